"""Figures of a direction: a text along it, next tokens by the factor it is added with, and where the text collapses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import SLANT, label_room, token_axis

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def projection_figure(scores: Float[ndarray, " seq"], labels: Sequence[str], height: int) -> go.Figure:
    """The score of each token: above 0 on the side of the first class, below on that of the second.

    Args:
        scores: NaN where there is none.
        labels: of the tokens, safe for plotly.
    """
    bars = {
        "type": "bar",
        "x": list(range(len(labels))),
        "y": scores.astype(np.float32),
        "marker": {"color": ["@residual" if score > 0 else "@key" for score in scores]},
        "customdata": list(labels),
        "hovertemplate": "'%{customdata}': %{y:+.2f}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis=token_axis(labels),
        yaxis={"title": "score", "fixedrange": True, "zeroline": True, "zerolinecolor": "@muted"},
        margin={"t": 8, "b": label_room(labels, SLANT) + 12},
        bargap=0.2,
    )
    return theme.build([bars], layout)


def next_figure(
    probabilities: Float[ndarray, "token factor"],
    labels: Sequence[str],
    factors: Sequence[float],
    chosen: float,
    height: int,
) -> go.Figure:
    """The probability of some next tokens by the factor; the chosen factor is marked, and a click carries its index.

    Args:
        labels: of the tokens, safe for plotly.
    """
    places = list(range(len(factors)))
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": label,
            "x": places,
            "y": [round(float(v), 4) for v in row],
            "line": {"color": f"@cat{i}", "width": 2.2, "dash": DASHES[i % len(DASHES)]},
            "marker": {"size": 6, "color": f"@cat{i}"},
            "customdata": places,
            "hovertemplate": f"'{label}': %{{y:.1%}}<extra></extra>",
        }
        for i, (label, row) in enumerate(zip(labels, probabilities, strict=True))
    ]
    layout = theme.base_layout(
        height,
        xaxis=_factor_axis(factors),
        yaxis={
            "title": "probability of the next token",
            "rangemode": "tozero",
            "tickformat": ".0%",
            "fixedrange": True,
        },
        shapes=[_mark(factors.index(chosen))],
        legend={"font": {"size": 12, "family": theme.MONO}},
        margin={"t": 64},
    )
    return theme.build(data, layout)


def _factor_axis(factors: Sequence[float]) -> dict[str, Any]:
    return {
        "title": "factor",
        "tickvals": list(range(len(factors))),
        "ticktext": [f"{factor:+g}" if factor else "0" for factor in factors],
        "tickangle": 0,
        "range": [-0.5, len(factors) - 0.5],
        "showgrid": False,
        "fixedrange": True,
    }


def _mark(place: int) -> dict[str, Any]:
    """A line at the chosen factor."""
    return {
        "type": "line",
        "yref": "paper",
        "x0": place,
        "x1": place,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"color": "@accent", "width": 2},
    }


def collapse_figure(
    nats: Float[ndarray, " factor"],
    repeated: Float[ndarray, " factor"],
    factors: Sequence[float],
    collapsed: Sequence[bool],
    bounds: tuple[float, float],
    chosen: float,
    height: int,
) -> go.Figure:
    """Cross-entropy of the steered text above, how much of it is repeated below; grey where it has collapsed.

    Args:
        bounds: of the one and of the other, dotted lines.
    """
    places = list(range(len(factors)))
    rows = (
        (nats, "nats per token", bounds[0], "%{y:.2f} nats per token"),
        (repeated, "repeated", bounds[1], "%{y:.0%} repeated"),
    )
    data: list[dict[str, Any]] = []
    for i, (values, name, bound, hover) in enumerate(rows):
        axis = f"y{i + 1}" if i else "y"
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": places,
                "y": [round(float(v), 4) for v in values],
                "yaxis": axis,
                "name": name,
                "line": {"color": "@residual" if not i else "@ink", "width": 2.2},
                "hovertemplate": f"{hover}<extra></extra>",
                "showlegend": False,
            }
        )
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [-0.5, len(factors) - 0.5],
                "y": [bound, bound],
                "yaxis": axis,
                "line": {"color": "@muted", "width": 1.2, "dash": "dot"},
                "hovertemplate": f"collapsed above {bound:g}<extra></extra>",
                "showlegend": False,
            }
        )
    shade = [
        {
            "type": "rect",
            "yref": "paper",
            "x0": place - 0.5,
            "x1": place + 0.5,
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "fillcolor": "@muted/0.18",
            "line": {"width": 0},
        }
        for place, bad in zip(places, collapsed, strict=True)
        if bad
    ]
    layout = theme.base_layout(
        height,
        xaxis={**_factor_axis(factors), "anchor": "y2"},
        yaxis={"title": "nats per token", "rangemode": "tozero", "domain": [0.54, 1], "fixedrange": True},
        yaxis2={"title": "repeated", "range": [0, 1.02], "tickformat": ".0%", "domain": [0, 0.44], "fixedrange": True},
        shapes=[*shade, _mark(factors.index(chosen))],
        margin={"t": 12},
    )
    return theme.build(data, layout)
