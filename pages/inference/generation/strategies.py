"""Section of the page on generation: decoding strategies side by side, as they generate."""

from typing import Any

import streamlit as st

from pages.inference.generation.choices import OFF, SEEDS, Prompt, filters, joined, writer
from pages.ui import controls, text
from pages.ui.frame import panel
from pages.ui.work import jobs, live
from tfcore.measures.one_text import pieces_of
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation import say
from tfcore.views.inference.generation.measure import decoding
from tfcore.views.inference.generation.measure.decoding import NAMES, DecodingPlan, Strategy, WrittenToken

EVERY = 0.5  # seconds between two looks at the job
PATIENCE = 10.0  # seconds without a look, after which the job stops
ABOUT: dict[Strategy, str] = {
    "greedy": "always the most likely token",
    "beam": "the most likely text it can find; known only at its end",
    "sampling": "drawn from what the filters leave",
    "pure": "drawn from the model's own distribution",
}
TRY: dict[str, dict[str, Any]] = {
    "usual filters": {"penalty": 1.0, "temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05},
    "temperature 1.6": OFF | {"temperature": 1.6},
    "temperature 1.6, min-p": OFF | {"temperature": 1.6, "min_p": 0.1},
    "repetition": {"text": "The red ball was in the red box. The red", "tokens": 100},
    "another story": {"text": "The old man opened the door. Behind it was a"},
}


def show(prompt: Prompt) -> None:
    """Show the section."""
    with panel(None) as p, p.picture:
        p.examples(TRY)
        left, right = st.columns([1, 3], gap="large")
        with left:
            sampling, chosen_seed, more = filters()
            with more:
                tokens = controls.slider("Max new tokens", "tokens", 10, 120, 40, 10)
            network = writer(prompt.network)
            beside = st.container()
        given = prompt.model, prompt.pasted, sampling, chosen_seed, tokens, prompt.stop_ids
        plan = DecodingPlan(
            ids=prompt.ids, sampling=sampling, seed=chosen_seed, tokens=tokens, stop_ids=prompt.stop_ids
        )
        key = ("strategies", prompt.model, plan)

        def draw(job: jobs.Job) -> None:
            shown = views.strategies(*given, so_far=list(job.items))
            done = max(len(one) for one in shown.result.values())
            again = {"seed": controls.next_seed(chosen_seed, SEEDS)}
            with beside:
                live.bar(key, job, done, tokens, again, work="text", step="token", rate=True)
            with right:
                _texts(prompt, shown.result, job.active)
                p.show(shown)

        live.watch(key, draw, live.begin(key, lambda: decoding.continue_beside(network, plan), PATIENCE), EVERY)
        p.what_to_see(
            "The stronger its colour, the more probable a token was. Greedy decoding and beam search find likely "
            "texts, which tend to repeat as they get longer: compare the share of repeated trigrams. Pure sampling "
            "follows the model's own distribution, its long tail of improbable tokens included. Filters cut the tail. "
            "Human text is not the most likely text either (arXiv:1904.09751, figure 2)."
        )
        p.question(
            "Beam search usually finds a text with a higher probability than greedy. Why is it rarely used for "
            "stories?",
            "Because the most likely text is often dull and repetitive: compare the share of repeated trigrams, and "
            "read them. Where there is one right output, as in translation, the likeliest text is what you want, and "
            "beam search is used.",
        )


def _texts(prompt: Prompt, texts: dict[Strategy, list[WrittenToken]], is_active: bool) -> None:
    """Each text, in chips and in words."""
    rows: tuple[tuple[Strategy, ...], ...] = (("greedy", "beam"), ("sampling", "pure"))
    for row in rows:
        for place, name in zip(st.columns(2, gap="medium"), row, strict=True):
            with place:
                _one(prompt, name, texts[name], is_active)


def _one(prompt: Prompt, name: Strategy, written: list[WrittenToken], is_active: bool) -> None:
    """One text: as it reads, token by token, and its numbers."""
    st.markdown(f"**{NAMES[name].capitalize()}**: {ABOUT[name]}")
    ids = [one.token for one in written]
    if not written:
        st.caption("Comes when the others are done" if is_active else "Nothing was written.")
        return
    text.written(text.escape(joined(prompt, ids)), name)
    text.chips(
        pieces_of(prompt.tokenizer, ids),
        key=f"chips {name}",
        label=f"Text by {NAMES[name]}, token by token",
        shade=[one.probability for one in written],
        titles=None if is_active else [one.title for one in written],
    )
    st.caption(str(say.text_score(name, written)))
