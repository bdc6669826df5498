"""What a length costs, said the same way for every kind of sequence on the page on tokens."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.ui import cache
from pages.ui.components.figure import figure
from tfcore.analysis.model import flop_count
from tfcore.figures.foundations import signal_tokens as figures

cost_of = cache.data(max_entries=128)(flop_count.sequence_cost)


def metrics(n: int, tokens: str, one: str, size: str) -> None:
    """Length, size of one token, and what follows, as numbers in a row.

    Args:
        n: tokens.
        tokens: what they are called.
        one: the label of the size of one token.
        size: that size.
    """
    cost = cost_of((n,))
    with st.container(horizontal=True, gap="medium"):
        st.metric(tokens, f"{n:,}", width="content")
        st.metric(one, size, width="content")
        st.metric("Cells of one attention map", f"{int(cost.cells[0]):,}", width="content", help="n × n")
        st.metric(
            "FLOPs of a forward pass",
            si(cost.total[0]),
            width="content",
            help="in a Transformer of 12 layers, width 768",
        )


def curve(sizes: Sequence[int | float], lengths: Sequence[int], now: int, title: str, what: str) -> None:
    """The cost against how finely something is cut; `what` says in words what is marked ("patches of 16 pixels")."""
    cost = cost_of(tuple(lengths))
    n, weights, attention, share = (values[now] for values in (cost.n, cost.linear, cost.squared, cost.share))
    figure(
        figures.cost_figure(sizes, cost, now, title, 320),
        key="cost",
        height=320,
        alt=f"Cost of a forward pass by {title}: with {what}, {n:,} tokens, {si(weights)} FLOPs for weights and "
        f"{si(attention)} for attention, {share:.1%} of the whole.",
        caption=f"With {what}: n = {n:,} tokens, {share:.1%} of the FLOPs go into attention, and its maps in one "
        f"layer take {si(cost.matrices[now])}B in half precision. 12 layers, width 768: 24nd² + 4n²d per layer.",
        table=lambda: pd.DataFrame(
            {title: sizes, "tokens": cost.n, "weights FLOPs": cost.linear, "attention FLOPs": cost.squared}
        ),
    )


def si(value: float) -> str:
    """A number with a letter for its thousands, three digits: 35.1 G."""
    number, letters = float(value), iter(("", "k", "M", "G", "T", "P", "E"))
    letter = next(letters)
    while abs(number) >= 999.5 and (following := next(letters, "")):
        number, letter = number / 1000, following
    return f"{number:.3g} {letter}"
