"""Section of the page on in-context learning: the heads an answer depends on, and whether they are induction heads."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.in_context import experiments
from pages.inside.in_context.choice import Choice, choose, of_first
from pages.ui import cache, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work.filling import fill
from tfcore.analysis.inside.in_context import heads as analysis
from tfcore.analysis.inside.in_context.heads import Exact, HeadEffects, Start
from tfcore.analysis.inside.in_context.tasks import draw, prompt
from tfcore.measures import knock_outs, statistics

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

every_head = cache.of_model(max_entries=64)(analysis.every_head)
induction_scores = cache.of_model(max_entries=12)(analysis.induction_scores)


def heads() -> None:
    """The section."""
    page.try_this({**of_first(TRY), **TRY_OTHERS})
    chosen = choose()
    pictures(chosen)
    words(chosen)


def pictures(chosen: Choice) -> None:
    """Every head's effect beside its induction score; exact effects fill in one by one."""
    model, tokenizer = cache.model(chosen.model)
    given = chosen.task, chosen.labels, chosen.examples, chosen.seed
    try:
        asked = prompt(
            tokenizer, draw(chosen.task, chosen.labels, chosen.seed), chosen.examples, model.config.max_seq_len
        )
    except ValueError as problem:
        st.info(f"No effects: {text.escape(str(problem), text.MESSAGE)}.")
        return

    def shown(found: Sequence[Start | Exact]) -> None:
        if not found:
            st.info("All heads are being estimated: one pass forward and one back.")
            return
        now = analysis.together(found, induction_scores(chosen.model))
        made_of = experiments.heads(now)
        figure(
            made_of.figure,
            key="heads",
            height=380,
            min_width=340,
            table=lambda: head_table(now),
            alt=made_of.alt,
            caption=f"{made_of.caption} Filled: exact; rings: estimates by attribution patching.",
        )

    fill(
        ("in-context heads", chosen),
        knock_outs.operations(model, 2 * BACKWARD + analysis.EXACT, max(WEIGHTS, len(asked.ids))),
        lambda: analysis.heads_of_prompt(model, tokenizer, *given),
        lambda: every_head(chosen.model, *given),
        shown,
        1 + min(analysis.EXACT, model.config.n_layers * model.config.n_heads),
        "result",
    )


def head_table(now: HeadEffects) -> pd.DataFrame:
    """Every head."""
    layers, count = now.effect.shape
    return pd.DataFrame(
        {
            "layer": [i // count for i in range(layers * count)],
            "head": [i % count for i in range(layers * count)],
            "fall of log-probability": now.effect.ravel(),
            "exact": now.exact.ravel(),
            "induction score": now.score.ravel(),
        }
    )


def words(chosen: Choice) -> None:
    """What to see, the question, how it is computed."""
    page.what_to_see(
        "Each dot is a head: to the right, heads that attend to what followed an earlier occurrence of a token; up, "
        "heads without which the right answer is less probable. If induction heads alone carried in-context learning, "
        "dots would rise from left to right. Look at tasks of both kinds: a code can only be copied, an antonym can "
        "also be known. A head high up on the left does something else that this answer needs, such as reading the "
        "input or writing what each token's neighbour is."
    )
    page.question(
        "A head has the highest induction score of the model, and knocking it out changes nothing here. Is it idle?",
        "Not shown: several heads may do the same work, and each of them alone can be missed, as the others still do "
        "it. Knock out several together on the page of induction heads. The score is measured on random tokens, where "
        "only copying helps; this prompt can be answered in other ways too.",
    )
    found, scores = made(analysis.every_head, *chosen), made(analysis.induction_scores, chosen.model)
    page.how_it_is_computed(
        page.experiment(experiments.heads, made(analysis.together, found, scores)),
        formula=(
            r"\text{fall} = \log p(y \mid \text{prompt}) - \log p(y \mid \text{prompt}, z_{l,h} = 0) \approx "
            r"\sum_{\text{tokens}} z_{l,h} \cdot \frac{\partial \log p(y)}{\partial z_{l,h}}"
        ),
        code=(analysis.heads_of_prompt, analysis.induction_scores, statistics.rank_correlation, analysis.heads_agree),
        papers=(
            "Induction heads as a mechanism of in-context learning: arXiv:2209.11895. Attribution patching: "
            "arXiv:2310.10348. The score is the mean weight on the token after an earlier occurrence of the "
            "query token, on repeated random tokens."
        ),
        terms=("in-context learning", "induction head", "zero ablation"),
    )
