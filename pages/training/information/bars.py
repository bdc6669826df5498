"""Panel of the page on information: two distributions as bars to drag, their entropies, and KL both ways."""

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.information import experiments as experiments
from pages.training.information import models as information_models
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components import bars
from pages.ui.components.figure import figure
from pages.ui.reading import first_tokens
from tfcore.analysis.training import entropy as analysis
from tfcore.analysis.training.entropy import Comparison, compare
from tfcore.analysis.training.likeliest import next_tokens
from tfcore.figures.training import entropy as figures

CHARACTERS, TOKENS, GUESSES = 2_000, 128, 5
PROMPT = "Lily went to the park with her mother. She saw a big"
FINE = 10**9  # a model's probabilities as whole weights
LETTERS = "ABCDEFGH"
P_FIRST = (60, 25, 10, 5, 4, 3, 2, 1)  # by hand, as many as there are outcomes
Q_FIRST = (4, 16, 30, 50, 60, 70, 80, 90)
SOURCES = {"hand": "By hand", "model": "P is a model's next token"}


def hand(p: str, q: str) -> dict[str, Any]:
    """What a "try this" button sets."""
    n = len(p.split("_"))
    return {"of": "hand", "n": n, f"p{n}": p, f"q{n}": q}


TRY: dict[str, dict[str, Any]] = {
    "fair coin": hand("1_1", "1_1"),
    "0.9/0.1 coin, Q fair": hand("9_1", "1_1"),
    "uniform die": hand("1_1_1_1_1_1", "1_1_1_1_1_5"),
    "peaked": hand("93_1_1_1_1_1_1_1", "1_1_1_1_1_1_1_1"),
    "Q gives 0 to one": hand("4_3_2_1", "4_4_2_0"),
    "a model's next token": {"of": "model", "text": PROMPT, "guess": "6_1_1_1_1_2"},
}


@cache.data(max_entries=64)
def next_shares(model_name: str, pasted: str) -> tuple[list[str], tuple[int, ...]]:
    """The likeliest tokens after a text and all others together, with their probabilities as weights."""
    network, tokenizer = cache.model(model_name)
    found = next_tokens(network, first_tokens(model_name, pasted, TOKENS).ids, GUESSES)
    chances = [float(chance) for chance in found.chance]
    weights = [round(FINE * chance) for chance in (*chances, max(0.0, 1 - sum(chances)))]
    return tokenizer.tokens(found.ids.tolist()), tuple(weights)


def panel() -> None:
    """Drag, and see every number follow."""
    st.latex(
        r"\underbrace{-\sum_i p_i \log_2 q_i}_{\text{cross-entropy } H(P, Q)} = "
        r"\underbrace{-\sum_i p_i \log_2 p_i}_{\text{entropy } H(P)} + "
        r"\underbrace{\sum_i p_i \log_2 \frac{p_i}{q_i}}_{\mathrm{KL}(P \,\|\, Q)\; \ge\; 0}"
    )
    page.try_this(TRY)
    source = controls.segmented("Outcomes", "of", list(SOURCES), "hand", SOURCES)
    if source == "hand":
        _by_hand()
    else:
        _of_a_model()
    page.what_to_see(
        "Blue is the true distribution P, orange the prediction Q. Each block is as wide as its outcome is probable "
        "and as high as its code length: log₂ 1/p bits by P's own code, log₂ 1/q by Q's. The blue area is the entropy, "
        "the orange one the cross-entropy, and no Q makes it smaller than P's own. Drag a bar of Q to 0 while P keeps "
        "it: the cross-entropy becomes infinite. With a finger, drag the "
        "handle; with the keyboard, Tab to a bar, then arrow keys for 1 %, with Shift for 0.1 %, Page Up and Page Down "
        "for 10 %, Home and End for 0 and 1."
    )
    page.source(analysis.entropy, analysis.cross_entropy, analysis.divergence_terms, analysis.weighted_logs)
    st.caption(
        "Entropy: Shannon 1948, section 6. Cross-entropy and KL: Cover and Thomas, Elements of Information Theory, "
        "chapter 2. Targets that give every outcome some probability: label smoothing, "
        "arXiv:1512.00567, section 7."
    )
    page.question(
        "A model is trained for ever, on data without end. How far can its loss fall?",
        "To H(P), the entropy of the text itself, and no further: the KL divergence can reach 0, the entropy stays. A "
        "loss above 0 at the end of training is no failure: for the 0.9/0.1 coin 0.469 bits per throw is the minimum, "
        "even for the exact Q.",
    )


@fragments.fragment
def _by_hand() -> None:
    boards, picture = st.columns([2, 3], gap="large")
    with boards:
        n = controls.slider("Number of outcomes", "n", 2, len(LETTERS), 4)
        names = list(LETTERS[:n])
        st.markdown("**P**, the true distribution")
        p = bars.read(f"p{n}", P_FIRST[:n])
        bars.show(f"p{n}", p, names, label="distribution P", hue=0, height=150)
        st.markdown("**Q**, the prediction")
        q = bars.read(f"q{n}", Q_FIRST[:n])
        bars.show(f"q{n}", q, names, label="distribution Q", hue=1, height=150)
    with picture:
        _numbers(bars.shares(p), bars.shares(q), names)
    page.experiment(experiments.distributions, bars.shares(p), bars.shares(q), names)


def _of_a_model() -> None:
    left, right = st.columns([3, 1])
    with left:
        pasted = controls.text_area("Text to go on from", "text", PROMPT, CHARACTERS, height=68)
    with right:
        model_name = information_models.choose()
    read = first_tokens(model_name, pasted, TOKENS)
    notices.tokens(read.total, len(read.ids))
    if not read.ids:
        st.info("There is no text yet: type or paste some.")
        return
    _guessed(model_name, pasted)


@fragments.fragment
def _guessed(model_name: str, pasted: str) -> None:
    """The model's own distribution, which stands, and a guess of it, which can be dragged."""
    tokens, weights = next_shares(model_name, pasted)
    names = [*(text.visible(token) for token in tokens), "others"]
    boards, picture = st.columns([2, 3], gap="large")
    with boards:
        st.markdown("**P**, the model's distribution")
        bars.show("said", weights, names, label="distribution P", hue=0, height=150, fixed=True)
        st.markdown("**Q**, your prediction of it: drag")
        q = bars.read("guess", (1,) * len(names))
        bars.show("guess", q, names, label="distribution Q", hue=1, height=150)
    with picture:
        _numbers(bars.shares(weights), bars.shares(q), names)
    page.experiment(experiments.next_token, model_name, pasted, TOKENS, GUESSES, bars.shares(q))


def _numbers(p: tuple[float, ...], q: tuple[float, ...], names: list[str]) -> None:
    """All numbers of two distributions, and the pictures of them."""
    result = compare(np.array(p), np.array(q))
    labels = text.tick_labels(names, 12)
    with st.container(horizontal=True, gap="small"):
        for name, value, words in (
            ("H(P)", bits(result.own), "entropy: mean bits per outcome of P"),
            ("H(P, Q)", bits(result.cross), "cross-entropy: mean bits per outcome of P with the code of Q"),
            ("KL(P‖Q)", bits(result.forward), "KL divergence: extra bits with Q where P is true"),
            ("KL(Q‖P)", bits(result.reverse), "reverse KL: extra bits with P where Q is true"),
            (
                "perplexity of P",
                f"{analysis.perplexity(result.own):.3f}",
                "2 to the power H(P): as uncertain as among so many equally likely outcomes; a model's "
                "perplexity on a text is 2 to the power of its mean loss, H(P, Q)",
            ),
        ):
            st.metric(name, value, help=words, width=88 if len(name) < 12 else 120)
    st.markdown(_checked(result, names))
    paid = "infinite" if math.isinf(result.cross) else f"{result.cross:.3f} bits"
    figure(
        figures.areas_figure(result, labels, 300),
        key="areas",
        height=300,
        table=lambda: _table(result, names),
        alt=f"Areas: H(P) = {result.own:.3f} bits, H(P, Q) = {paid}, KL(P‖Q) = {bits(result.forward)} bits.",
        caption=f"Blue area: {result.own:.3f} bits, the entropy of P. Orange area: {paid}, the cross-entropy with Q. "
        f"P and Q have shape ({len(names)},).",
    )
    figure(
        figures.terms_figure(result, labels, 230),
        key="terms",
        height=230,
        table=lambda: _table(result, names),
        alt=f"What each outcome adds: KL(P‖Q) sums to {bits(result.forward)}, KL(Q‖P) to {bits(result.reverse)} bits.",
        caption=f"The same log-ratios of p and q, weighted by P (sum {bits(result.forward)}) or by Q (sum "
        f"{bits(result.reverse)}): that is all the difference. Hatched to the edge: infinite.",
    )


def bits(value: float) -> str:
    """A number of bits in words."""
    return "∞" if math.isinf(value) else f"{value:.3f}"


def _checked(result: Comparison, names: list[str]) -> str:
    """The identity with its numbers, or why there is none (Markdown)."""
    if math.isfinite(result.gap):
        return (
            f"**Checked now**: H(P) + KL(P‖Q) = {result.own:.5f} + {result.forward:.5f} = "
            f"{result.own + result.forward:.5f}; H(P, Q) = {result.cross:.5f} bits. Difference: {abs(result.gap):.1g}."
        )
    ruled = [text.escape(name) for name, p, q in zip(names, result.p, result.q, strict=True) if p > 0 and q == 0]
    return (
        f"**Infinite**: Q gives 0 to {', '.join(ruled)}, and P does not, so the cross-entropy is infinite. Where p "
        "itself is 0, the term is 0: 0 log 0 counts as 0."
    )


def _table(result: Comparison, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "outcome": names,
            "p": result.p,
            "q": result.q,
            "adds to KL(P||Q)": result.forward_terms,
            "adds to KL(Q||P)": result.reverse_terms,
        }
    )
