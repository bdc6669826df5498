"""Section of the page on generation: decoding strategies side by side, as they generate."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.generation import experiments as experiments
from pages.inference.generation.settings import OFF, SEEDS, TOKENS, Prompt, filters, joined, seed
from pages.ui import controls, page, text
from pages.ui.components.figure import figure
from pages.ui.work import jobs, live
from tfcore.analysis.inference import strategies as analysis
from tfcore.analysis.inference import written
from tfcore.analysis.inference.strategies import Plan
from tfcore.analysis.inference.written import Written
from tfcore.figures.inference import strategies as figures
from tfcore.generation import beam
from tfcore.generation.generate import stream

EVERY, PATIENCE = 0.5, 10.0  # seconds between two looks; nobody looked for so long: stop
NAMES: dict[str, str] = {
    "greedy": "greedy",
    "beam": f"beam search, {analysis.BEAMS} beams",
    "sampling": "sampling, your filters",
    "pure": "sampling, no filters",
}
ABOUT: dict[str, str] = {
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
    """The section."""
    st.latex(r"\overline{\log p} = \frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})")
    page.try_this(TRY)
    left, right = st.columns([1, 3], gap="large")
    with left:
        tokens = controls.slider("Max new tokens", "tokens", 10, 120, 40, 10)
        sampling, chance = filters(), seed()
    plan = Plan(ids=prompt.ids, sampling=sampling, seed=chance, tokens=tokens, stop_ids=prompt.stop_ids)
    key = ("strategies", prompt.model, plan)
    network = prompt.network

    def draw(job: jobs.Job) -> None:
        texts: dict[str, list[Written]] = {name: [] for name in NAMES}
        for name, one in job.items:
            texts[name].append(one)
        done = max(len(one) for one in texts.values())
        again = {"seed": (chance + 1) % (SEEDS + 1)}
        live.bar(key, job, done, tokens, again, work="text", step="token")
        _texts(prompt, texts, tokens, job.active)

    with right:
        live.watch(key, draw, live.begin(key, lambda: analysis.continue_beside(network, plan), PATIENCE), EVERY)
    page.what_to_see(
        "The stronger its colour, the more probable a token was. Greedy decoding and beam search find likely texts, "
        "which tend to repeat as they get longer: compare the share of repeated trigrams. Pure sampling follows the "
        "model's own distribution, its long tail of improbable tokens included. Filters cut the tail. Human text is "
        "not the most likely text either (arXiv:1904.09751, figure 2)."
    )
    page.source(analysis.continue_beside, stream, beam.beam_steps, written.repeated)
    page.experiment(
        experiments.strategies, prompt.model, prompt.pasted, TOKENS, sampling, chance, tokens, prompt.stop_ids
    )
    page.question(
        "Beam search usually finds a text with a higher probability than greedy. Why is it rarely used for stories?",
        "Because the most likely text is often dull and repetitive: compare the share of repeated trigrams, and read "
        "them. Where there is one right output, as in translation, the likeliest text is what you want, and beam "
        "search is used.",
    )


def _texts(prompt: Prompt, texts: dict[str, list[Written]], tokens: int, is_active: bool) -> None:
    """The curves, and each text in chips."""
    means = {name: written.mean_log_probability(one) for name, one in texts.items()}
    numbers = "; ".join(f"{NAMES[name]} {means[name]:.2f}" for name, one in texts.items() if one)
    shown = {name: one for name, one in texts.items() if one}
    figure(
        figures.likelihood_figure(shown, NAMES, tokens, 300),
        key="likelihood",
        height=300,
        alt=f"Mean log-probability of the texts, in nats per token: {numbers or 'nothing yet'}.",
        caption=f"How likely the model finds each text up to each token, in nats per token: {numbers}.",
        table=lambda: _table(prompt, texts),
    )
    for row in (("greedy", "beam"), ("sampling", "pure")):
        for place, name in zip(st.columns(2, gap="medium"), row, strict=True):
            with place:
                _one(prompt, name, texts[name], means[name], is_active)


def _one(prompt: Prompt, name: str, found: list[Written], mean: float, is_active: bool) -> None:
    """One text: its numbers, its tokens, and itself."""
    st.markdown(f"**{NAMES[name].capitalize()}**: {ABOUT[name]}")
    ids = [one.token for one in found]
    if not found:
        st.caption("Comes when the others are done" if is_active else "Nothing was written.")
        return
    st.caption(f"Mean log-probability **{mean:.2f}** nats; repeated trigrams: **{written.repeated(ids):.0%}**")
    pieces = prompt.tokenizer.tokens(ids)
    titles = [f"by the model {one.probability:.3f}, rank {one.rank:,}; drawn with {one.chance:.3f}" for one in found]
    text.chips(
        pieces,
        key=f"chips {name}",
        label=f"Text by {NAMES[name]}, token by token",
        shade=[one.probability for one in found],
        titles=None if is_active else titles,
    )
    st.caption(text.escape(joined(prompt, ids)))


def _table(prompt: Prompt, texts: dict[str, list[Written]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (name, i, piece, one.probability, one.rank, one.chance)
            for name, found in texts.items()
            for i, (one, piece) in enumerate(
                zip(found, prompt.tokenizer.tokens([one.token for one in found]), strict=True)
            )
        ],
        columns=["strategy", "place", "token", "probability", "rank", "drawn with"],
    )
