"""Section of the page on generation: one token, from the whole distribution to the draw."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.generation import experiments as experiments
from pages.inference.generation.settings import OFF, TEXT, TOKENS, Prompt, filters, joined
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from pages.ui.program import made
from tfcore.analysis.inference.next_token import FILTERS, Continuation, NextToken, entropies, first_token, logits_after
from tfcore.figures.inference.next_token import SHOWN
from tfcore.generation import sampling as library

MOST = 24  # tokens that can be drawn one after another
TRY: dict[str, dict[str, Any]] = {
    "all filters": {"text": TEXT, "penalty": 1.2, "temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05},
    "no filter": OFF,
    "greedy": OFF | {"temperature": 0.0},
    "temperature 1.8": OFF | {"temperature": 1.8},
    "top-p, high entropy": OFF | {"text": "The old man opened the door. Behind it was a", "top_p": 0.8},
    "top-p, low entropy": OFF | {"text": "Once upon a time there was a little dog", "top_p": 0.8},
    "repetition penalty": OFF | {"text": "Tom had a dog and a cat. Tom loved the", "penalty": 1.6},
}


@cache.shared(max_entries=4)
def continuation(model: str, ids: tuple[int, ...], sampling: library.Sampling, seed: int, most: int) -> Continuation:
    """What is drawn one after another, kept open: the next token takes one pass of the model."""
    return Continuation(*cache.model(model), ids, sampling, seed, most)


@cache.shared(max_entries=32)
def after(model: str, ids: tuple[int, ...]) -> Any:
    """The logits after a text: all but the slider of what was drawn leave them as they are."""
    return logits_after(cache.model(model)[0], ids)


@cache.data(max_entries=128)
def first(model: str, ids: tuple[int, ...], sampling: library.Sampling, seed: int) -> NextToken:
    """The first token after a text."""
    return first_token(cache.model(model)[1], ids, after(model, ids), sampling, seed)


def show(prompt: Prompt) -> None:
    """The section."""
    page.try_this({name: {"drawn": 0, **values} for name, values in TRY.items()})
    writing = st.container()
    left, right = st.columns([1, 3], gap="large")
    with left:
        box, more = st.container(), page.more_settings()
    with box:
        sampling, chosen_seed, _ = filters(more=more)
        most = min(MOST, prompt.network.config.max_seq_len - len(prompt.ids) - 1)
        drawn = controls.slider("Tokens sampled before this one", "drawn", 0, most, 0)
        player("drawn", 0, most, drawn, label="tokens")
    given = prompt.model, prompt.pasted, TOKENS, sampling, chosen_seed, drawn
    drawing = prompt.model, prompt.ids, sampling, chosen_seed
    result = continuation(*drawing, most + 1).token(drawn) if drawn else first(*drawing)
    with right:
        _bars(prompt, result)
        new = [*result.before, result.token]
        count = "1 token" if len(new) == 1 else f"{len(new)} tokens"
        st.markdown(f"**{count.capitalize()} drawn:**")
        shown = joined(prompt, new)
        text.written(text.escape(shown if shown.strip() else text.visible(shown)), "drawn")
    with writing:
        _written(prompt, result)
    _line(result)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _ranks(result)
    with right:
        found = entropies(result)
        before, after = found.bits
        st.metric(
            "Entropy of the model's distribution",
            before,
            help="2 to that power: the number of equally likely tokens with the same entropy.",
        )
        st.metric("Entropy after all filters", after)
        st.metric("The model's probability of what is left", found.kept_share)
    page.what_to_see(
        "From top to bottom the filters act one after another: bars are what is left, hatched is what was cut away, "
        "dashes mark where the bars stood before. Top-k always keeps the same number of tokens; top-p and min-p keep "
        "more where the distribution is flatter: compare the two examples with top-p alone. What is left is "
        "renormalised and laid end to end; one random number *u* then falls on a token (inverse transform sampling). "
        "Move the seed: the distribution of the first token stays, only *u* moves."
    )
    page.question(
        "Temperature 0.1 and top-k 1 both sharpen. Is there a text that one can write and the other cannot?",
        "Yes. Top-k 1 removes every token but the first for good. At temperature 0.1 all tokens stay possible, though "
        "barely: one with half the probability of the best is left with a part in 2^10 of it. Above 0 the temperature "
        "cuts nothing; the rows below it do.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.one_token, made(experiments.sampled, *given)),
        formula=(
            r"p_i = \frac{e^{x_i / T}}{\sum_j e^{x_j / T}}, \qquad "
            r"\text{token} = \min\Big\{i : \textstyle\sum_{j \le i} p_j > u\Big\}, \quad u \sim \mathrm{U}[0, 1)"
        ),
        code=(
            library.temperature,
            library.top_k,
            library.top_p,
            library.min_p,
            library.repetition_penalty,
            library.pick,
        ),
        papers=(
            "Temperature: arXiv:1503.02531, eq. 1. Top-k: arXiv:1805.04833. Top-p: arXiv:1904.09751, eq. 2. Min-p: "
            "arXiv:2407.01082. Repetition penalty: arXiv:1909.05858, section 4.1, with negative scores multiplied."
        ),
    )


def _bars(prompt: Prompt, result: NextToken) -> None:
    shown = experiments.one_token(result)
    figure(
        shown.figure,
        key="filters",
        height=640,
        min_width=560,
        alt=shown.alt,
        caption=f"{shown.caption} Rows of shape {result.order.shape}; shown: the {SHOWN} most likely.",
        table=lambda: _table(prompt, result),
    )


def _line(result: NextToken) -> None:
    shown = experiments.where_u_falls(result)
    figure(
        shown.figure, key="draw", height=210, min_width=340, alt=shown.alt, caption=f"{shown.caption} Grey: cut away."
    )


def _written(prompt: Prompt, result: NextToken) -> None:
    """The end of the text, with what was drawn."""
    given = list(prompt.ids[-30:])
    new = [*result.before, result.token]
    text.chips(
        prompt.tokenizer.tokens(given + new),
        key="sofar",
        selected=len(given) + len(new) - 1,
        label="The text so far",
        shade=[0.0] * len(given) + [0.5] * (len(new) - 1) + [1.0],
    )


def _ranks(result: NextToken) -> None:
    shown = experiments.by_rank(result)
    figure(shown.figure, key="ranks", height=300, alt=shown.alt, caption=shown.alt)


def _table(prompt: Prompt, result: NextToken) -> pd.DataFrame:
    columns = dict(zip(FILTERS, result.probabilities, strict=True))
    return pd.DataFrame({"id": result.order, "token": prompt.tokenizer.tokens(result.order.tolist()), **columns})
