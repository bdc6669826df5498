"""The cost of a length, said the same way for every kind of sequence on the page on tokens."""

import streamlit as st

from tfcore.views.foundations.tokens.say.signals import cost_at
from tfcore.views.view import View


def metrics(shown: View, now: int, tokens: str, one: str, size: str) -> None:
    """Length, size of one token, and what follows, as numbers in a row.

    Args:
        shown: the view of the cost.
        now: the place of the length in it.
        tokens: what they are called.
        one: the label of the size of one token.
        size: that size.
    """
    costs = cost_at(shown.result, now, tokens)
    with st.container(horizontal=True, gap="medium"):
        st.metric(tokens, costs.tokens_text, width="content")
        st.metric(one, size, width="content")
        st.metric("Cells of one attention map", costs.pairs_text, width="content", help="n × n")
        st.metric(
            "FLOPs of a forward pass",
            costs.flops_text,
            width="content",
            help="in a Transformer of 12 layers, width 768",
        )
