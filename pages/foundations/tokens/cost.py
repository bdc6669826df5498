"""What a length costs, said the same way for every kind of sequence on the page on tokens."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.ui import cache
from pages.ui.components.figure import figure
from tfcore.analysis.foundations import token_counts
from tfcore.figures.shown import Shown
from tfcore.measures import flop_count

cost_of = cache.data(max_entries=128)(flop_count.sequence_cost)


def metrics(n: int, tokens: str, one: str, size: str) -> None:
    """Length, size of one token, and what follows, as numbers in a row.

    Args:
        n: tokens.
        tokens: what they are called.
        one: the label of the size of one token.
        size: that size.
    """
    found = token_counts.cost_at(cost_of((n,)), 0, tokens)
    with st.container(horizontal=True, gap="medium"):
        st.metric(tokens, found.tokens_text, width="content")
        st.metric(one, size, width="content")
        st.metric("Cells of one attention map", found.pairs_text, width="content", help="n × n")
        st.metric(
            "FLOPs of a forward pass",
            found.flops_text,
            width="content",
            help="in a Transformer of 12 layers, width 768",
        )


def curve(shown: Shown, sizes: Sequence[int | float], lengths: Sequence[int], title: str) -> None:
    """The cost against how finely something is cut.

    Args:
        shown: the curve, with what the chosen size costs as its main finding.
        sizes: on its axis.
        lengths: of the sequence with each of them.
        title: of the axis.
    """
    cost = cost_of(tuple(lengths))
    figure(
        shown.figure,
        key="cost",
        height=320,
        alt=f"Cost of a forward pass by {title}. {shown.alt}",
        caption=f"{shown.alt} 12 layers, width 768: 24nd² + 4n²d per layer.",
        table=lambda: pd.DataFrame(
            {title: sizes, "tokens": cost.n, "weights FLOPs": cost.linear, "attention FLOPs": cost.squared}
        ),
    )
