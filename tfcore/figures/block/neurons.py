"""Figures of neurons: the tokens one promotes, its activation along a text, the neurons most active at a token."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.block.neurons import ActiveNeuron
from tfcore.figures import theme
from tfcore.figures.tokens import SLANT, label_room, token_axis

PROMOTED = "@feedforward"
SUPPRESSED = "@muted"


def promoted_figure(
    labels: Sequence[str],
    lift: Sequence[float],
    followed: str | None,
    height: int,
    *,
    up: str = PROMOTED,
    axis: str = "change of the logit",
    unit: str = "logits",
    room: float = 1.25,
) -> go.Figure:
    """The tokens whose logits a neuron (or another part of a model) raises most, and those it lowers most.

    Args:
        labels: of the tokens, from the most lifted to the most lowered; safe for plotly.
        lift: in logits.
        followed: the label of the token that comes next in the text, if it is among them: it gets an arrow.
        up: colour role of the lifted.
        axis: what the numbers are, and unit: theirs.
        room: of the axis, in lengths of the longest bar: a narrow figure needs more for the numbers.
    """
    places = list(range(len(labels)))
    names = [f"<b>{label}</b> ◂" if label == followed else label for label in labels]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": places,
        "x": [round(float(v), 4) for v in lift],
        "marker": {"color": [up if v > 0 else SUPPRESSED for v in lift]},
        "text": [f"{v:+.2f}" for v in lift],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 11, "color": "@ink"},
        "customdata": list(labels),
        "hovertemplate": f"'%{{customdata}}': %{{x:+.3f}} {unit}<extra></extra>",
    }
    reach = room * max(0.01, *(abs(float(v)) for v in lift))
    layout = theme.base_layout(
        height,
        xaxis={
            "title": axis,
            "range": [-reach, reach],
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": "@muted",
        },
        yaxis={
            "tickvals": places,
            "ticktext": names,
            "autorange": "reversed",
            "fixedrange": True,
            "showgrid": False,
            "tickfont": {"family": theme.MONO, "size": 12, "color": "@ink"},
        },
        margin={"t": 8},
        bargap=0.25,
    )
    return theme.build([bars], layout)


def activations_figure(
    values: Float[ndarray, " seq"], labels: Sequence[str], chosen: int, record: float, height: int
) -> go.Figure:
    """A neuron's activation at every token of a text; dotted, its record.

    Args:
        chosen: the token that is marked.
        record: the strongest activation in the scan, with its sign.
    """
    n = len(labels)
    way = 1.0 if record >= 0 else -1.0
    bars = {
        "type": "bar",
        "x": np.arange(n),
        "y": values.astype(np.float32),
        "text": list(labels),
        "textposition": "none",
        "marker": {
            "color": [PROMOTED if way * v > 0 else SUPPRESSED for v in values.tolist()],
            "line": {"color": "@accent", "width": [2.5 if i == chosen else 0 for i in range(n)]},
        },
        "hovertemplate": "'%{text}' (%{x}): %{y:.3f}<extra></extra>",
    }
    low, high = min(0.0, record, float(values.min())), max(0.0, record, float(values.max()))
    room = 0.08 * (high - low)
    layout = theme.base_layout(
        height,
        xaxis=token_axis(labels),
        yaxis={
            "title": "activation",
            "range": [low - room, high + room],
            "zeroline": True,
            "zerolinecolor": "@muted",
            "fixedrange": True,
        },
        margin={"b": label_room(labels, SLANT) + 8, "t": 14},
        bargap=0.15,
        shapes=[
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": record,
                "y1": record,
                "line": {"color": PROMOTED, "width": 1.5, "dash": "dot"},
            }
        ],
        annotations=[
            {
                "xref": "paper",
                "x": 1,
                "xanchor": "right",
                "y": record,
                "showarrow": False,
                "yanchor": "top" if record > 0 else "bottom",
                "text": f"its record {record:.2f}",
                "font": {"size": 11, "color": PROMOTED},
            }
        ],
    )
    return theme.build([bars], layout)


def active_figure(
    found: Sequence[ActiveNeuron], words: Sequence[str], chosen: tuple[int, int, int], height: int
) -> go.Figure:
    """The neurons most active at one token, as shares of their records; customdata [layer, neuron, side].

    Args:
        words: for each, tokens it promotes; safe for plotly.
        chosen: the neuron looked at.
    """
    names = [f"{e.layer}.{e.neuron} {'+' if e.side == 0 else '−'}" for e in found]
    same = [(e.layer, e.neuron, e.side) == chosen for e in found]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(found))),
        "x": [round(e.share, 4) for e in found],
        "marker": {"color": PROMOTED, "opacity": [1.0 if one else 0.6 for one in same]},
        "text": list(words),
        "textposition": "inside",
        "insidetextanchor": "start",
        "insidetextfont": {"color": "@ink", "size": 12},
        "customdata": [[e.layer, e.neuron, e.side] for e in found],
        "hovertemplate": "neuron %{y}: %{x:.0%} of its record<br>click to look at it<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis={
            "title": "share of the strongest activation ever seen of it",
            "tickformat": ".0%",
            "fixedrange": True,
            "range": [0, max(1.0, 1.05 * max((e.share for e in found), default=1.0))],
        },
        yaxis={
            "tickvals": list(range(len(found))),
            "ticktext": names,
            "autorange": "reversed",
            "fixedrange": True,
            "title": "neuron: layer.number",
            "showgrid": False,
        },
        margin={"t": 8},
        bargap=0.2,
    )
    return theme.build([bars], layout)
