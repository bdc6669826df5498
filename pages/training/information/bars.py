"""Panel of the page on information: two distributions as bars to drag, their entropies, and KL both ways."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.training.information import experiments
from pages.training.information import models as information_models
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components import bars
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.training import entropy as analysis
from tfcore.figures.shown import Shown
from tfcore.measures import information

CHARACTERS = 2_000
TOKENS = 128  # of the text that a model reads
GUESSES = 5
PROMPT = "Lily went to the park with her mother. She saw a big"
WEIGHTS = 10**9  # a model's probabilities as whole weights: what they sum to
LETTERS = "ABCDEFGH"
P_FIRST = (60, 25, 10, 5, 4, 3, 2, 1)  # by hand, as many as there are outcomes
Q_FIRST = (4, 16, 30, 50, 60, 70, 80, 90)
SOURCES = {"hand": "By hand", "model": "P is a model's next token"}
METRICS = {
    "H(P)": "entropy: mean bits per outcome of P",
    "H(P, Q)": "cross-entropy: mean bits per outcome of P with the code of Q",
    "KL(P‖Q)": "KL divergence: extra bits with Q where P is true",
    "KL(Q‖P)": "reverse KL: extra bits with P where Q is true",
    "perplexity of P": "2 to the power H(P): as uncertain as among that many equally likely outcomes; a model's "
    "perplexity on a text is 2 to the power of its mean loss, H(P, Q)",
}

next_shares = cache.of_model(max_entries=64)(experiments.next_shares)


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


def panel() -> None:
    """Drag, and see every number follow."""
    page.try_this(TRY)
    which, rest = st.columns([2, 5], vertical_alignment="bottom")
    with which:
        source = controls.segmented("Outcomes", "of", list(SOURCES), "hand", SOURCES, named=False)
    latest = page.Latest()
    if source == "hand":
        _by_hand(latest)
    else:
        _of_a_model(rest, latest)
    page.what_to_see(
        "Blue is the true distribution P, orange the prediction Q. Each block is as wide as its outcome is probable "
        "and as high as its code length: log₂ 1/p bits by P's own code, log₂ 1/q by Q's. The blue area is the entropy, "
        "the orange one the cross-entropy, and no Q makes it smaller than P's own. Drag a bar of Q to 0 while P keeps "
        "it: the cross-entropy becomes infinite. With a finger, drag the "
        "handle; with the keyboard, Tab to a bar, then arrow keys for 1 %, with Shift for 0.1 %, Page Up and Page Down "
        "for 10 %, Home and End for 0 and 1."
    )
    page.question(
        "A model is trained for ever, on data without end. How far can its loss fall?",
        "To H(P), the entropy of the text itself, and no further: the KL divergence can reach 0, the entropy stays. A "
        "loss above 0 at the end of training is no failure: for the 0.9/0.1 coin 0.469 bits per throw is the minimum, "
        "even for the exact Q.",
    )
    page.how_it_is_computed(
        latest,
        formula=(
            r"\underbrace{-\sum_i p_i \log_2 q_i}_{\text{cross-entropy } H(P, Q)} = "
            r"\underbrace{-\sum_i p_i \log_2 p_i}_{\text{entropy } H(P)} + "
            r"\underbrace{\sum_i p_i \log_2 \frac{p_i}{q_i}}_{\mathrm{KL}(P \,\|\, Q)\; \ge\; 0}"
        ),
        code=(information.entropy, information.cross_entropy, information.divergence_terms, information.weighted_logs),
        papers=(
            "Entropy: Shannon 1948, section 6. Cross-entropy and KL: Cover and Thomas, Elements of Information Theory, "
            "chapter 2. Targets that give every outcome some probability: label smoothing, "
            "arXiv:1512.00567, section 7."
        ),
    )


@fragments.fragment
def _by_hand(latest: page.Latest) -> None:
    boards, picture = st.columns([2, 3], gap="large")
    with boards:
        drawn = st.container()
        n = controls.slider("Number of outcomes", "n", 2, len(LETTERS), 4)
    names = list(LETTERS[:n])
    with drawn:
        st.markdown("**P**, the true distribution")
        p = bars.read(f"p{n}", P_FIRST[:n])
        bars.show(f"p{n}", p, names, label="distribution P", hue=0, height=150)
        st.markdown("**Q**, the prediction")
        q = bars.read(f"q{n}", Q_FIRST[:n])
        bars.show(f"q{n}", q, names, label="distribution Q", hue=1, height=150)
    given = bars.shares(p), bars.shares(q), names
    with picture:
        _numbers(experiments.distributions(*given), *given)
    latest.offer(experiments.distributions, *given)


def _of_a_model(above: DeltaGenerator, latest: page.Latest) -> None:
    left, right = above.columns([3, 1], vertical_alignment="bottom")
    with right:
        model_name = information_models.choose()
    with left:
        label = "Text to go on from"
        pasted = text_box(model_name, label, "text", PROMPT, CHARACTERS, height=68, named=False, kind="prompt")
    read = first_tokens(model_name, pasted, TOKENS)
    notices.tokens(read.total, len(read.ids))
    if not read.ids:
        say_nothing_read(model_name, pasted, "text", "There is no text yet: type or paste some.")
        return
    _guessed(model_name, pasted, latest)


@fragments.fragment
def _guessed(model_name: str, pasted: str, latest: page.Latest) -> None:
    """The model's own distribution, which stands, and a guess of it, which can be dragged."""
    asked = model_name, pasted, TOKENS, GUESSES
    prediction = next_shares(*asked)
    p, names = prediction
    boards, picture = st.columns([2, 3], gap="large")
    with boards:
        st.markdown("**P**, the model's distribution")
        weights = tuple(round(WEIGHTS * one) for one in p)
        bars.show("said", weights, names, label="distribution P", hue=0, height=150, fixed=True)
        st.markdown("**Q**, your prediction of it: drag")
        guess = bars.read("guess", (1,) * len(names))
        bars.show("guess", guess, names, label="distribution Q", hue=1, height=150)
    q = bars.shares(guess)
    with picture:
        _numbers(experiments.next_token(prediction, q), p, q, names)
    latest.offer(experiments.next_token, made(experiments.next_shares, *asked), q)


def _numbers(shown: Shown, p: tuple[float, ...], q: tuple[float, ...], names: list[str]) -> None:
    """All numbers of two distributions, and the pictures of them."""
    result = analysis.compare(np.array(p), np.array(q))

    def table() -> pd.DataFrame:
        return pd.DataFrame(
            {
                "outcome": names,
                "p": result.p,
                "q": result.q,
                "adds to KL(P||Q)": result.forward_terms,
                "adds to KL(Q||P)": result.reverse_terms,
            }
        )

    figure(
        shown.figure,
        key="areas",
        height=300,
        table=table,
        alt=shown.alt,
        caption=f"{shown.caption} P and Q have shape ({len(names)},).",
    )
    metrics = analysis.entropy_numbers(result).metrics
    with st.container(horizontal=True, gap="small"):
        for name, words in METRICS.items():
            st.metric(name, metrics[name], help=words, width=88 if len(name) < 12 else 120)
    identity = analysis.entropy_identity(result, names)
    st.markdown(f"**{'Infinite' if identity.ruled_out else 'Checked now'}**: {text.escape(identity)}")
    terms = experiments.terms(p, q, names)
    figure(
        terms.figure,
        key="terms",
        height=230,
        table=table,
        alt=f"What each outcome adds: {terms.alt}",
        caption=f"The same log-ratios of p and q, weighted by P or by Q: that is all the difference. {terms.caption} "
        "Hatched to the edge: infinite.",
    )
