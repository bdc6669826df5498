"""Section of the page on in-context learning: the heads an answer depends on, and whether they are induction heads."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.inside.in_context.choices import ChosenPrompt, choose, of_first
from pages.ui import text
from pages.ui.frame import Panel, panel
from pages.ui.work.filling import fill
from tfcore.measures import knock_outs
from tfcore.views.inside import in_context as views
from tfcore.views.inside.in_context.measure.heads import EXACT, Exact, Start, every_of, heads_of_prompt
from tfcore.views.inside.in_context.measure.tasks import draw, prompt
from tfcore.views.sources import opened

BACKWARD = 3  # times a forward pass: the estimate, with its backward pass
WEIGHTS = 16  # tokens whose products take about as long as the weights take to be read, once for each pass
TRY: dict[str, dict[str, Any]] = {
    "antonyms": {"task": "antonyms", "k": 12, "labels": "right"},
    "a made-up code": {"task": "code", "k": 12, "labels": "right"},
    "random labels": {"task": "code", "k": 12, "labels": "random"},
}
TRY_OTHERS: dict[str, dict[str, Any]] = {
    "two layers that only copy": {"model": "induction", "task": "code", "k": 12, "labels": "right"},
    "children's stories": {"model": "stories", "task": "code", "k": 12, "labels": "right"},
}


def heads() -> None:
    """Show the section."""
    with panel(None) as p:
        p.examples({**of_first(TRY), **TRY_OTHERS})
        every_head(p, choose("every head"))
        p.what_to_see(
            "Each dot is a head: to the right, heads that attend to what followed an earlier occurrence of a token; "
            "up, heads without which the right answer is less probable. If induction heads alone carried in-context "
            "learning, dots would rise from left to right. Look at tasks of both kinds: a code can only be copied, an "
            "antonym can also be known. A head high up on the left does something else that this answer needs, such as "
            "reading the input or writing what each token's neighbour is."
        )
        p.question(
            "A head has the highest induction score of the model, and knocking it out changes nothing here. Is it "
            "idle?",
            "Not shown: several heads may do the same work, and each of them alone can be missed, as the others still "
            "do it. Knock out several together on the page of induction heads. The score is measured on random tokens, "
            "where only copying helps; this prompt can be answered in other ways too.",
        )


def every_head(p: Panel, chosen: ChosenPrompt) -> None:
    """Every head's effect beside its induction score; exact effects fill in one by one."""
    model, tokenizer = opened(chosen.model)
    given = chosen.task, chosen.labels, chosen.examples, chosen.seed
    try:
        asked = prompt(
            tokenizer, draw(chosen.task, chosen.labels, chosen.seed), chosen.examples, model.config.max_seq_len
        )
    except ValueError as problem:
        st.info(f"No effects: {text.escape(str(problem), text.MESSAGE)}.")
        return

    def shown(so_far: Sequence[Start | Exact]) -> None:
        if so_far:
            p.show(views.heads(*chosen, so_far=so_far))
        else:
            st.info("All heads are being estimated: one pass forward and one back.")

    fill(
        ("in-context heads", chosen),
        knock_outs.operations(model, 2 * BACKWARD + EXACT, max(WEIGHTS, len(asked.ids))),
        lambda: heads_of_prompt(model, tokenizer, *given),
        lambda: every_of(*chosen),
        shown,
        1 + min(EXACT, model.config.n_layers * model.config.attention.n_heads),
        "result",
    )
