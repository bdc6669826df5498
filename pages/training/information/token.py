"""Panel of the page on information: the loss of one token against the probability of the right one."""

import pandas as pd
import streamlit as st

from pages.training.information import experiments
from pages.ui import controls, fragments, page
from pages.ui.components.figure import figure
from tfcore.analysis.training import entropy
from tfcore.measures import information
from tfcore.measures.text_loss import surprisal

GOOD = 0.9  # probability of all other tokens
ROWS = (1.0, 0.9, 0.5, 0.1, 0.01, 0.001)
TRY = {
    "nearly sure: 0.9": {"right": 0.9},
    "a coin: 0.5": {"right": 0.5},
    "surprised: 0.01": {"right": 0.01},
    "very surprised: 0.001": {"right": 0.001},
    "one token in ten at 0.001": {"right": 0.001, "share": 10},
}
METRICS = {"1/p": "The perplexity if every token were like this one."}

WORDS = (
    "Each halving of the probability costs one bit more, wherever it happens: from 1 to 0.5 as from 0.002 to "
    "0.001. At 0.9 the loss is 0.152 bits, at 0.01 it is 6.64, so a few improbable tokens can make most of the loss of "
    "a text. The gradient with respect to the logit is bounded: it is at most 1."
)


def panel() -> None:
    """A slider for the probability, and what follows from it."""
    page.try_this(TRY)
    latest = page.Latest()
    _live(latest)
    page.what_to_see(WORDS)
    page.question(
        "Two models have the same mean loss on a text. Are they equally good at predicting the next token?",
        "Not necessarily. One may be confident everywhere and wrong now and then, the other a little uncertain "
        "everywhere: ten per cent of tokens at 0.001 among others at 0.9 cost as much on average as all tokens at "
        "0.46. The mean does not say how often the likeliest token is the right one.",
    )
    page.how_it_is_computed(
        latest,
        formula=(
            r"\text{loss} = -\log_2 p_{\text{right}}, \qquad "
            r"\frac{\partial}{\partial x_{\text{right}}} \big(-\ln p_{\text{right}}\big) = p_{\text{right}} - 1, "
            r"\qquad "
            r"\text{perplexity} = 2^{\text{mean loss}}"
        ),
        code=(entropy.token_loss, entropy.mixed_loss, information.perplexity, surprisal),
        papers=(
            "The loss that language models are trained with is the mean of this over all tokens; arXiv:1706.03762, "
            "table 3, reports its perplexity, per token of its own vocabulary."
        ),
    )


@fragments.fragment
def _live(latest: page.Latest) -> None:
    left, right = st.columns([1, 2], gap="large")
    with left:
        p = controls.slider("Probability of the right token", "right", 0.001, 1.0, 0.01, 0.001, format="%.3f")
        share = controls.slider(
            "Tokens of that kind in a text, %", "share", 0, 100, 10, help="All others have probability 0.9."
        )
        with st.container(horizontal=True):
            for name, value in entropy.loss_of_token(p).metrics.items():
                st.metric(name, value, help=METRICS.get(name), width=110)
        st.markdown(str(entropy.loss_of_mixture(p, share / 100, GOOD)))
    shown = experiments.one_token(p, share / 100, GOOD)
    with right:
        figure(
            shown.figure,
            key="loss",
            height=330,
            min_width=520,
            table=lambda: pd.DataFrame({"p": ROWS, "bits": [entropy.token_loss(row) for row in ROWS]}),
            alt=f"Loss against the probability of the right token. {shown.alt}",
            caption=f"{shown.alt} The loss is unbounded, the gradient is not.",
        )
    st.dataframe(pd.DataFrame(entropy.loss_table(ROWS)), hide_index=True)
    latest.offer(experiments.one_token, p, share / 100, GOOD)
