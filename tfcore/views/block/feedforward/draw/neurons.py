"""Figures of neurons: the activation along a text, the neurons most active at a token, shares in a logit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.promoted import PROMOTED, SUPPRESSED
from tfcore.charts.tokens import SLANT, label_room, token_axis
from tfcore.views.block.feedforward.measure.neurons import ActiveNeuron
from tfcore.views.block.feedforward.measure.shares import WritingNeuron


def activations_figure(
    values: Float[ndarray, " seq"], labels: Sequence[str], chosen: int, record: float | None, height: int
) -> go.Figure:
    """A neuron's activation at every token of a text; dotted, its record.

    Args:
        chosen: the token that is marked.
        record: the strongest activation in the scan, with its sign; None where there was no scan.
    """
    n, end = len(labels), record or 0.0
    way = 1.0 if (float(values[chosen]) if record is None else record) >= 0 else -1.0
    bars = kit.bars(
        np.arange(n),
        values.astype(np.float32),
        [PROMOTED if way * v > 0 else SUPPRESSED for v in values.tolist()],
        marker={"line": {"color": "@accent", "width": [2.5 if i == chosen else 0 for i in range(n)]}},
        hover="'%{text}' (%{x}): %{y:.3f}",
        text=list(labels),
        textposition="none",
    )
    low, high = min(0.0, end, float(values.min())), max(0.0, end, float(values.max()))
    room = 0.08 * (high - low) or 1.0
    layout = theme.base_layout(
        height,
        xaxis=token_axis(labels),
        yaxis=kit.axis("activation", [low - room, high + room], fixed=True, zero=True),
        margin={"b": label_room(labels, SLANT) + 8, "t": 14},
        bargap=0.15,
    )
    return theme.build([bars], layout if record is None else layout | _record(record))


def _record(record: float) -> dict[str, Any]:
    """The dotted line of a record, with its number."""
    return {
        "shapes": [kit.across(record, PROMOTED, width=1.5, dash="dot", below=False)],
        "annotations": [
            kit.note(
                f"its record {record:.2f}",
                1,
                record,
                PROMOTED,
                size=11,
                paper="x",
                xanchor="right",
                yanchor="top" if record > 0 else "bottom",
            )
        ],
    }


def active_figure(
    active: Sequence[ActiveNeuron], words: Sequence[str], chosen: tuple[int, int, int], height: int
) -> go.Figure:
    """The neurons most active at one token, as shares of their records; customdata [layer, neuron, side].

    Args:
        words: for each, tokens it promotes; safe for plotly.
        chosen: the neuron looked at.
    """
    names = [f"{e.layer}.{e.neuron} {'+' if e.side == 0 else '−'}" for e in active]
    same = [(e.layer, e.neuron, e.side) == chosen for e in active]
    bars = _rows([e.share for e in active], same) | {
        "text": list(words),
        "textposition": "inside",
        "insidetextanchor": "start",
        "insidetextfont": {"color": "@ink", "size": 12},
        "customdata": [[e.layer, e.neuron, e.side] for e in active],
        "hovertemplate": "neuron %{y}: %{x:.0%} of its record<br>click to look at it<extra></extra>",
    }
    xaxis = {
        "title": "share of the strongest activation ever seen of it",
        "tickformat": ".0%",
        "range": [0, max(1.0, 1.05 * max((e.share for e in active), default=1.0))],
    }
    return theme.build([bars], _named_rows(names, xaxis, height))


def shares_figure(
    writing: Sequence[WritingNeuron], words: Sequence[str], chosen: tuple[int, int], height: int
) -> go.Figure:
    """The neurons with the largest shares in one logit, from the largest share down; customdata [layer, neuron].

    Args:
        words: for each, tokens that it raises, written on the side of zero that its bar leaves free; safe for plotly.
        chosen: the neuron looked at.
    """
    bars = _rows([one.share for one in writing], [(one.layer, one.neuron) == chosen for one in writing]) | {
        "customdata": [[one.layer, one.neuron] for one in writing],
        "hovertemplate": "neuron %{y}: %{x:+.3f} logits<br>click to look at it<extra></extra>",
    }
    reach = 1.05 * max((abs(one.share) for one in writing), default=1.0)
    xaxis = {"title": "share in the logit", "range": [-reach, reach], "zeroline": True, "zerolinecolor": "@muted"}
    layout = _named_rows([f"{one.layer}.{one.neuron}" for one in writing], xaxis, height)
    layout["annotations"] = [
        kit.note(f" {text} ", 0, i, "@ink", size=11, family=theme.MONO, xanchor="right" if one.share >= 0 else "left")
        for i, (one, text) in enumerate(zip(writing, words, strict=True))
    ]
    return theme.build([bars], layout)


def _rows(lengths: Sequence[float], strong: Sequence[bool]) -> dict[str, Any]:
    """A bar for each neuron."""
    return kit.bars(
        [round(length, 4) for length in lengths],
        list(range(len(lengths))),
        [PROMOTED if length >= 0 else SUPPRESSED for length in lengths],
        marker={"opacity": [1.0 if one else 0.6 for one in strong]},
        orientation="h",
    )


def _named_rows(names: Sequence[str], xaxis: dict[str, Any], height: int) -> dict[str, Any]:
    """The layout of rows that are named by their neurons."""
    return theme.base_layout(
        height,
        xaxis=xaxis | {"fixedrange": True},
        yaxis=kit.axis(
            "neuron: layer.number",
            fixed=True,
            grid=False,
            tickvals=list(range(len(names))),
            ticktext=list(names),
            autorange="reversed",
        ),
        margin={"t": 8},
        bargap=0.2,
    )
