"""Figures of what training takes: days against accelerators, and how far 6 N D is from the exact count."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.figures import theme
from tfcore.measures.flop_count import RuleError
from tfcore.views.training.scaling.draw.scaling import counts_axis
from tfcore.views.training.scaling.measure.training_cost import HARDWARE

SPAN = (0.0, 5.3)  # powers of ten of accelerators


def days_figure(days: Mapping[str, float], chosen: str, count: int, height: int) -> go.Figure:
    """Days against the number of accelerators, a line for each kind.

    Args:
        days: with `count` accelerators, by key of HARDWARE.
        chosen: the kind that is marked.
        count: accelerators.
        height: in pixels.
    """
    counts = np.array([10.0 ** SPAN[0], 10.0 ** SPAN[1]])
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": counts,
            "y": total * count / counts,
            "name": HARDWARE[key].name,
            "line": {"color": f"@cat{i}", "width": 4 if key == chosen else 1.5, "dash": "dot" if i % 2 else "solid"},
            "hoverinfo": "skip",
        }
        for i, (key, total) in enumerate(days.items())
    ]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [count],
            "y": [days[chosen]],
            "showlegend": False,
            "marker": {"size": 12, "color": "@accent", "line": {"color": "@paper", "width": 1.5}},
            "hovertemplate": "%{x:,}: %{y:,.3g} days<extra></extra>",
        }
    )
    places = {
        1 / 24: "an hour",
        1: "a day",
        7: "a week",
        30.4: "a month",
        365.25: "a year",
        3652.5: "10 years",
        36525: "a century",
    }
    middle = math.log10(days[chosen])
    span = [min(-2.0, middle - 0.5), max(4.6, middle + 0.5)]
    layout = theme.base_layout(
        height,
        xaxis=counts_axis("accelerators", SPAN, 1),
        margin={"t": 84},
        yaxis={
            "type": "log",
            "range": span,
            "fixedrange": True,
            "title": "time",
            "tickvals": list(places),
            "ticktext": list(places.values()),
        },
    )
    return theme.build(data, layout)


def rule_figure(errors: Mapping[str, RuleError], seq: int, height: int) -> go.Figure:
    """How many times 6 N the exact count is, for each model, with and without embeddings in N."""
    names = list(errors)
    looks = (
        ("N with embeddings", "of_all", "@cat0", "circle"),
        ("N without", "without_embeddings", "@cat1", "diamond"),
    )
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": words,
            "x": [getattr(errors[name], part) for name in names],
            "y": names,
            "marker": {"size": 10, "color": colour, "symbol": symbol},
            "hovertemplate": f"%{{y}}: %{{x:.3f}} × 6 N D<extra>{words}</extra>",
        }
        for words, part, colour, symbol in looks
    ]
    top = max(2.0, *(error.without_embeddings * 1.05 for error in errors.values()))
    one = {
        "type": "line",
        "x0": 1,
        "x1": 1,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"color": "@ink", "width": 1.5, "dash": "dot"},
    }
    layout = theme.base_layout(
        height,
        shapes=[one],
        yaxis={"autorange": "reversed", "fixedrange": True},
        xaxis={"title": f"exact count ÷ 6 N D, texts of {seq:,} tokens", "range": [0.8, top], "fixedrange": True},
    )
    return theme.build(data, layout)
