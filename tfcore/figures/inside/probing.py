"""Figures of probes: accuracy by layer beside the control task, and accuracy by class at one layer."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme

EVERY = 13  # places up to which each is written


def layer_axis(count: int) -> dict[str, Any]:
    """The embedding and layers 0, 1, ... along x, index 0 being the embedding."""
    places = list(range(count)) if count <= EVERY else [0, *range(6, count, 5)]
    return {
        "title": "layer after which the stream is read",
        "tickvals": places,
        "ticktext": ["emb.", *(str(i - 1) for i in places[1:])],
        "tickangle": 0,
        "range": [-0.03 * count - 0.2, count - 0.8 + 0.03 * count],
        "showgrid": False,
        "fixedrange": True,
    }


def accuracy_figure(
    accuracy: Float[ndarray, " layer"],
    interval: Sequence[tuple[float, float]],
    control: Float[ndarray, " layer"] | None,
    baseline: tuple[float, str],
    layers: int,
    chosen: int,
    height: int,
    name: str = "probe",
) -> go.Figure:
    """Accuracy by layer with its interval as a band, the control task, and a baseline; a click carries the index.

    Args:
        interval: of each accuracy.
        control: of the control task; None where there is none.
        baseline: an accuracy, and its name in the legend.
        layers: how many there will be; the curves may still grow.
        chosen: index of the layer that is marked.
        name: of the curve, in the legend.
    """
    x = list(range(len(accuracy)))
    band = {
        "type": "scatter",
        "x": [*x, *reversed(x)],
        "y": [round(low, 4) for low, _ in interval] + [round(high, 4) for _, high in reversed(interval)],
        "fill": "toself",
        "fillcolor": "@residual/0.22",
        "line": {"width": 0, "color": "@residual/0"},
        "name": "95 % interval",
        "hoverinfo": "skip",
    }
    data = [band, _line(x, accuracy, name, "@residual", "solid")]
    if control is not None:
        data.append(_line(x, control, "control task (random labels)", "@muted", "dash"))
    level, words = baseline
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": [-0.5, layers - 0.5],
            "y": [round(level, 4)] * 2,
            "name": words,
            "line": {"color": "@ink", "width": 1.2, "dash": "dot"},
            "hovertemplate": f"{words}: %{{y:.1%}}<extra></extra>",
        }
    )
    layout = theme.base_layout(
        height,
        xaxis=layer_axis(layers),
        yaxis={"title": "correct, held out", "range": [0, 1.03], "tickformat": ".0%", "fixedrange": True},
        shapes=[
            {
                "type": "line",
                "yref": "paper",
                "x0": chosen,
                "x1": chosen,
                "y0": 0,
                "y1": 1,
                "layer": "below",
                "line": {"color": "@accent", "width": 2},
            }
        ],
        margin={"t": 48},
    )
    return theme.build(data, layout)


def _line(x: Sequence[int], y: Float[ndarray, " layer"], name: str, colour: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(x),
        "y": [round(float(v), 4) for v in y],
        "name": name,
        "line": {"color": colour, "width": 2.4, "dash": dash},
        "marker": {"size": 6, "color": colour},
        "customdata": list(x),
        "hovertemplate": f"{name}: %{{y:.1%}}<extra></extra>",
    }


def classes_figure(
    labels: Sequence[str], shares: Sequence[float], interval: Sequence[tuple[float, float]], height: int
) -> go.Figure:
    """The share of each class that is read correctly, with its interval.

    Args:
        labels: of the classes, with how many words each has; safe for plotly.
    """
    places = list(range(len(labels)))
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": places,
        "x": [round(share, 4) for share in shares],
        "marker": {"color": "@residual/0.55"},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [round(high - share, 4) for share, (_, high) in zip(shares, interval, strict=True)],
            "arrayminus": [round(share - low, 4) for share, (low, _) in zip(shares, interval, strict=True)],
            "color": "@ink",
            "thickness": 1,
            "width": 3,
        },
        "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "correct of its words", "range": [0, 1.03], "tickformat": ".0%", "fixedrange": True},
        yaxis={
            "tickvals": places,
            "ticktext": list(labels),
            "autorange": "reversed",
            "showgrid": False,
            "fixedrange": True,
        },
        margin={"t": 8, "l": 110},
        bargap=0.25,
    )
    return theme.build([bars], layout)
