"""Panel of the page on information: the loss of one token against the probability of the right one."""

import math

import pandas as pd
import streamlit as st

from pages.training.information import experiments as experiments
from pages.ui import controls, fragments, page
from pages.ui.components.figure import figure
from tfcore.analysis.training import entropy, information
from tfcore.analysis.training.entropy import token_loss as loss
from tfcore.figures.training import entropy as figures

GOOD = 0.9
ROWS = (1.0, 0.9, 0.5, 0.1, 0.01, 0.001)
TRY = {
    "nearly sure: 0.9": {"right": 0.9},
    "a coin: 0.5": {"right": 0.5},
    "surprised: 0.01": {"right": 0.01},
    "very surprised: 0.001": {"right": 0.001},
    "one token in ten at 0.001": {"right": 0.001, "share": 10},
}

WORDS = (
    "Each halving of the probability costs one bit more, wherever it happens: from 1 to 0.5 as from 0.002 to "
    "0.001. At 0.9 the loss is 0.152 bits, at 0.01 it is 6.64, so a few improbable tokens can make most of the loss of "
    "a text. The gradient with respect to the logit is bounded: it is at most 1."
)


def panel() -> None:
    """A slider for the probability, and what follows from it."""
    st.latex(
        r"\text{loss} = -\log_2 p_{\text{right}}, \qquad "
        r"\frac{\partial}{\partial x_{\text{right}}} \big(-\ln p_{\text{right}}\big) = p_{\text{right}} - 1, \qquad "
        r"\text{perplexity} = 2^{\text{mean loss}}"
    )
    page.try_this(TRY)
    _live()
    page.what_to_see(WORDS)
    page.source(entropy.token_loss, entropy.mixed_loss, entropy.perplexity, information.surprisal)
    st.caption(
        "The loss that language models are trained with is the mean of this over all tokens; arXiv:1706.03762, "
        "table 3, reports its perplexity, per token of its own vocabulary."
    )
    page.question(
        "Two models have the same mean loss on a text. Are they equally good at predicting the next token?",
        "Not necessarily. One may be confident everywhere and wrong now and then, the other a little uncertain "
        "everywhere: ten per cent of tokens at 0.001 among others at 0.9 cost as much on average as all tokens at "
        "0.46. The mean does not say how often the likeliest token is the right one.",
    )


@fragments.fragment
def _live() -> None:
    left, right = st.columns([1, 2], gap="large")
    with left:
        p = controls.slider("Probability of the right token", "right", 0.001, 1.0, 0.01, 0.001, format="%.3f")
        share = controls.slider(
            "Tokens of that kind in a text, %", "share", 0, 100, 10, help="All others have probability 0.9."
        )
        mean = entropy.mixed_loss(p, share / 100, GOOD)
        with st.container(horizontal=True):
            st.metric("Loss, bits", f"{loss(p):.3f}", width=110)
            st.metric("Loss, nats", f"{loss(p) * math.log(2):.3f}", width=110)
            st.metric("1/p", f"{1 / p:,.1f}", help="The perplexity, were every token like this one.", width=110)
        st.markdown(
            f"One such token costs as much as **{loss(p) / loss(GOOD):.1f}** tokens at 0.9. A text with {share} % of "
            f"them and the rest at 0.9 has a mean of **{mean:.3f}** bits per token, perplexity "
            f"**{entropy.perplexity(mean):.2f}**."
        )
    with right:
        figure(
            figures.loss_figure(p, 330),
            key="loss",
            height=330,
            min_width=520,
            table=lambda: pd.DataFrame({"p": ROWS, "bits": [loss(row) for row in ROWS]}),
            alt=f"Loss against the probability of the right token: {loss(p):.3f} bits at {p:.3f}; the gradient there "
            f"is {1 - p:.3f}.",
            caption=f"At p = {p:.3f} the loss is {loss(p):.3f} bits and its gradient on the right token's logit "
            f"{p:.3f} − 1 = −{1 - p:.3f} (nats). The loss is unbounded, the gradient is not.",
        )
    st.dataframe(
        pd.DataFrame(
            {
                "probability of the right token": [f"{row:g}" for row in ROWS],
                "bits": [f"{loss(row):.3f}" for row in ROWS],
                "nats": [f"{loss(row) * math.log(2):.3f}" for row in ROWS],
                "perplexity": [f"{1 / row:,.2f}" for row in ROWS],
            }
        ),
        hide_index=True,
    )
    page.experiment(experiments.one_token, p, share / 100, GOOD)
