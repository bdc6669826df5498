"""Figures of what training takes: days against accelerators, and how far 6 N D is from the exact count."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
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
        kit.line(
            counts,
            total * count / counts,
            f"@cat{i}",
            name=HARDWARE[key].name,
            width=4 if key == chosen else 1.5,
            dash="dot" if i % 2 else "solid",
            hover=False,
        )
        for i, (key, total) in enumerate(days.items())
    ]
    data.append(
        kit.dots(
            [count],
            [days[chosen]],
            "@accent",
            size=12,
            marker={"line": {"color": "@paper", "width": 1.5}},
            hover="%{x:,}: %{y:,.3g} days",
            showlegend=False,
        )
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
        yaxis=kit.axis("time", span, log=True, fixed=True, tickvals=list(places), ticktext=list(places.values())),
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
        kit.dots(
            [getattr(errors[name], part) for name in names],
            names,
            colour,
            name=words,
            size=10,
            symbol=symbol,
            hover=f"%{{y}}: %{{x:.3f}} × 6 N D<extra>{words}</extra>",
        )
        for words, part, colour, symbol in looks
    ]
    top = max(2.0, *(error.without_embeddings * 1.05 for error in errors.values()))
    one = kit.upright(1, "@ink", width=1.5, dash="dot")
    layout = theme.base_layout(
        height,
        shapes=[one],
        yaxis=kit.axis(fixed=True, autorange="reversed"),
        xaxis=kit.axis(f"exact count ÷ 6 N D, texts of {seq:,} tokens", [0.8, top], fixed=True),
    )
    return theme.build(data, layout)
