"""Section of the page on generation: one token, from the whole distribution to the draw."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.generation import experiments as experiments
from pages.inference.generation.settings import OFF, TEXT, TOKENS, Prompt, filters, joined, seed
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from tfcore.analysis.inference import next_token as analysis
from tfcore.analysis.inference.next_token import NextToken
from tfcore.figures.inference import next_token as figures
from tfcore.generation import sampling as library
from tfcore.generation.sampling import Sampling

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


@cache.data(max_entries=128)
def compute(prompt: Prompt, sampling: Sampling, seed: int, drawn: int) -> NextToken:
    return analysis.next_token(prompt.network, prompt.ids, sampling, seed, drawn)


def show(prompt: Prompt) -> None:
    """The section."""
    st.latex(
        r"p_i = \frac{e^{x_i / T}}{\sum_j e^{x_j / T}}, \qquad "
        r"\text{token} = \min\Big\{i : \textstyle\sum_{j \le i} p_j > u\Big\}, \quad u \sim \mathrm{U}[0, 1)"
    )
    page.try_this({name: {"drawn": 0, **values} for name, values in TRY.items()})
    left, right = st.columns([1, 3], gap="large")
    with left:
        sampling, chance = filters(), seed()
        most = min(MOST, prompt.network.config.max_seq_len - len(prompt.ids) - 1)
        drawn = controls.slider("Tokens sampled before this one", "drawn", 0, most, 0)
        player("drawn", 0, most, drawn, label="tokens")
    result = compute(prompt, sampling, chance, drawn)
    labels = text.tick_labels(prompt.tokenizer.tokens(result.order[:400].tolist()), 14)
    if result.place >= len(labels):
        labels += [""] * (result.place - len(labels))
        labels.append(text.label(prompt.tokenizer.tokens([result.token])[0], 14))
    with right:
        _bars(prompt, result, sampling, labels)
    _line(prompt, result, labels)
    _written(prompt, result)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _ranks(result)
    with right:
        st.metric(
            "Entropy of the model's distribution",
            f"{result.entropy[0]:.2f} bits",
            help="2 to that power: the number of equally likely tokens with the same entropy.",
        )
        st.metric("Entropy after all filters", f"{result.entropy[-1]:.2f} bits")
        inside = float(result.probabilities[0][result.probabilities[-1] > 0].sum())
        st.metric("The model's probability of what is left", f"{inside:.1%}")
    page.what_to_see(
        "From top to bottom the filters act one after another: bars are what is left, hatched is what was cut away, "
        "dashes mark where the bars stood before. Top-k always keeps the same number of tokens; top-p and min-p keep "
        "more where the distribution is flatter: compare the two examples with top-p alone. What is left is "
        "renormalised and laid end to end; one random number *u* then falls on a token (inverse transform sampling). "
        "Move the seed: here only *u* moves."
    )
    page.source(
        library.temperature, library.top_k, library.top_p, library.min_p, library.repetition_penalty, library.pick
    )
    page.experiment(experiments.one_token, prompt.model, prompt.pasted, TOKENS, sampling, chance, drawn)
    st.caption(
        "Temperature: arXiv:1503.02531, eq. 1. Top-k: arXiv:1805.04833. Top-p: arXiv:1904.09751, eq. 2. Min-p: "
        "arXiv:2407.01082. Repetition penalty: arXiv:1909.05858, section 4.1, with negative scores multiplied."
    )
    page.question(
        "Temperature 0.1 and top-k 1 both sharpen. Is there a text that one can write and the other cannot?",
        "Yes. Top-k 1 removes every token but the first for good. At temperature 0.1 all tokens stay possible, if "
        "hardly: a token with half the probability of the best one is left with a part in 2^10 of it. The row of the "
        "temperature never cuts; the rows below do.",
    )


def _words(result: NextToken, sampling: Sampling) -> list[str]:
    """The heading of each row: the filter, its setting, and what it leaves."""
    on, left, total = result.is_on, result.left, result.probabilities.shape[1]
    settings = {
        "repetition penalty": f"{sampling.repetition_penalty:g}: tokens that occurred lose",
        "temperature": f"{sampling.temperature:g}: " + ("sharper" if sampling.temperature < 1 else "flatter"),
        "top-k": f"{sampling.top_k}: the first {sampling.top_k}",
        "top-p": f"{sampling.top_p:g}: the first that reach {sampling.top_p:.0%}",
        "min-p": f"{sampling.min_p:g}: at least {sampling.min_p:.0%} of the best",
    }
    words = [f"<b>the model</b>: {total:,} tokens"]
    for i, name in enumerate(analysis.FILTERS[1:], start=1):
        words.append(f"<b>{name}</b> {settings[name]} → {left[i]:,} left" if on[i] else f"{name}: off")
    return words


def _bars(prompt: Prompt, result: NextToken, sampling: Sampling, labels: list[str]) -> None:
    p, left = result.probabilities, result.left
    token = text.visible(prompt.tokenizer.tokens([result.token])[0])
    cuts = ", ".join(
        f"{name} leaves {left[i]:,}" for i, name in enumerate(analysis.FILTERS) if i > 2 and result.is_on[i]
    )
    sizes = f"{p[0, result.place]:.3f} by the model, {p[-1, result.place]:.3f} after all filters"
    finding = f"Of {p.shape[1]:,} tokens {cuts or 'none is cut away'}; drawn: '{token}', {sizes}."
    figure(
        figures.filters_figure(result, labels[: figures.SHOWN], _words(result, sampling), 640),
        key="filters",
        height=640,
        min_width=560,
        alt=finding,
        caption=f"{finding} Rows of shape ({p.shape[1]:,}); shown: the {figures.SHOWN} most likely.",
        table=lambda: _table(prompt, result),
    )


def _line(prompt: Prompt, result: NextToken, labels: list[str]) -> None:
    token = text.visible(prompt.tokenizer.tokens([result.token])[0])
    p = result.probabilities[-1]
    start = float(p[p > p[result.place]].sum())
    free = text.visible(prompt.tokenizer.tokens([int(result.order[result.unfiltered])])[0])
    fate = ", which the filters cut" if p[result.unfiltered] == 0 else ""
    figure(
        figures.draw_figure(result, labels, 210),
        key="draw",
        height=210,
        min_width=340,
        alt=f"The draw: u = {result.u:.4f} falls on '{token}', which covers {p[result.place]:.4f} of the line from "
        f"about {start:.4f} on.",
        caption=f"u = {result.u:.4f} falls on '{token}', whose part of the lower line is {p[result.place]:.4f} long. "
        f"Without filters the same u would fall on '{free}'{fate}. Grey: cut away.",
    )


def _written(prompt: Prompt, result: NextToken) -> None:
    """The end of the text, with what was drawn."""
    given = list(prompt.ids[-30:])
    new = [*result.before, result.token]
    st.caption(f"The text so far, with the token just drawn; {len(new)} drawn in all:")
    text.chips(
        prompt.tokenizer.tokens(given + new),
        key="sofar",
        selected=len(given) + len(new) - 1,
        label="The text so far",
        shade=[0.0] * len(given) + [0.5] * (len(new) - 1) + [1.0],
    )
    st.caption(f"Seed, text and settings give: {text.escape(joined(prompt, new))}")


def _ranks(result: NextToken) -> None:
    own, last = result.probabilities[0], result.probabilities[-1]
    figure(
        figures.ranks_figure(result, 300),
        key="ranks",
        height=300,
        alt=f"All {len(own):,} probabilities by rank, from {own.max():.3f} to {own.min():.1e}; after the filters "
        f"{int((last > 0).sum()):,} are left.",
        caption=f"The whole distribution: {len(own):,} tokens from {own.max():.3f} to {own.min():.1e}.",
    )


def _table(prompt: Prompt, result: NextToken) -> pd.DataFrame:
    columns = dict(zip(analysis.FILTERS, result.probabilities, strict=True))
    return pd.DataFrame({"id": result.order, "token": prompt.tokenizer.tokens(result.order.tolist()), **columns})
