"""Attention of a few tokens as a row of matrices with the numbers in their cells; softmax at many temperatures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.views.foundations.attention.measure.steps import AttentionSteps, TemperatureSweep

GAP = 0.9  # between two matrices, in columns
OUTPUT_COLUMNS = ("x", "y")


def attention_steps_figure(
    steps: AttentionSteps, labels: Sequence[str], chosen: int, limit: float, height: int = 236
) -> go.Figure:
    """Q K^T, / sqrt(d_k), softmax and output side by side, one row a query in all four.

    Args:
        steps: of two-dimensional vectors.
        labels: one a token, safe for plotly.
        chosen: the query whose row is framed.
        limit: largest coordinate of any vector; it fixes the ranges of the colours.
    """
    d_k = steps.outputs.shape[1]
    top, divided = d_k * limit**2, f"÷ √d<sub>k</sub> = ÷ {d_k**0.5:.2f}"
    softmax = "softmax" if steps.temperature == 1 else f"softmax of score ÷ {steps.temperature:g}"
    # title over the matrix, numbers, scale, ends of its range, what a cell says
    matrices: list[tuple[str, ndarray, str, float, float, str]] = [
        ("Q K<sup>T</sup>", steps.products, "@signed", -top, top, "query of '%{y}' · key of '%{x}' = %{z:.2f}"),
        (divided, steps.scores, "@signed", -top, top, "score of '%{y}' for '%{x}': %{z:.2f}"),
        (softmax, steps.weights, "@weights", 0.0, 1.0, "'%{y}' attends to '%{x}' with %{z:.2f}"),
        ("weights · V = output", steps.outputs, "@signed", -limit, limit, "output of '%{y}', %{x}: %{z:.2f}"),
    ]
    width = sum(m[1].shape[1] for m in matrices) + GAP * (len(matrices) - 1)
    data, axes, notes, shapes, left = [], {}, [], [], 0.0
    for i, (title, values, scale, low, high, hover) in enumerate(matrices):
        n = values.shape[1]
        number = "" if i == 0 else str(i + 1)
        columns = labels if i < 3 else OUTPUT_COLUMNS
        domain = [left / width, min((left + n) / width, 1.0)]
        data.append(_numbers(values, f"x{number}", scale, low, high, hover))
        axes[f"xaxis{number}"] = _columns(columns, domain)
        notes.append(
            kit.note(f"<b>{title}</b>", sum(domain) / 2, 1, None, size=14, paper="xy", yshift=26, yanchor="bottom")
        )
        if i:
            notes.append(kit.note("→", (left - GAP / 2) / width, 0.5, size=18, paper="xy"))
        shapes.append(
            kit.box(-0.5, n - 0.5, chosen - 0.5, chosen + 0.5, edge="@accent", width=2, xref=f"x{number}", yref="y")
        )
        left += n + GAP
    rows = {
        "range": [len(labels) - 0.5, -0.5],
        "tickvals": list(range(len(labels))),
        "ticktext": list(labels),
        "tickfont": {"family": theme.MONO, "size": 13, "color": "@query"},
        "showgrid": False,
        "fixedrange": True,
        "title": "",
    }
    layout = theme.base_layout(
        height, **axes, yaxis=rows, annotations=notes, shapes=shapes, margin={"l": 60, "r": 6, "t": 56, "b": 6}
    )
    return theme.build(data, layout)


def _numbers(values: ndarray, axis: str, scale: str, low: float, high: float, hover: str) -> dict[str, Any]:
    """A small matrix with each number in its cell."""
    return kit.cells(
        values.astype(np.float32),
        scale,
        low,
        high,
        hover=hover,
        xaxis=axis,
        yaxis="y",
        showscale=False,
        xgap=2,
        ygap=2,
        texttemplate="%{z:.2f}",
        textfont={"size": 14},
    )


def _columns(labels: Sequence[str], domain: list[float]) -> dict[str, Any]:
    """The columns of one matrix: keys, or coordinates of the output."""
    colour = "@value" if labels is OUTPUT_COLUMNS else "@key"
    return kit.axis(
        None,
        [-0.5, len(labels) - 0.5],
        fixed=True,
        grid=False,
        domain=domain,
        tickvals=list(range(len(labels))),
        side="top",
        ticktext=list(labels),
        tickfont={"family": theme.MONO, "size": 13, "color": colour},
        automargin=False,
        tickangle=0,
    )


def temperature_figure(sweep: TemperatureSweep, height: int = 320) -> go.Figure:
    """The weights as curves over the temperature, with the chosen one marked."""
    n = len(sweep.scores)
    names = [f"x<sub>{i + 1}</sub> = {score:g}" for i, score in enumerate(sweep.scores)]
    lines = [
        kit.line(
            sweep.temperatures.astype(np.float32),
            sweep.curves[:, i].astype(np.float32),
            f"@cat{i}",
            name=names[i],
            width=2.5,
            dash=dash,
            hovertemplate="T = %{x:.2f}: weight %{y:.4f}<extra>" + names[i] + "</extra>",
        )
        for i, dash in zip(range(n), ("solid", "dash", "dot"), strict=False)
    ]
    dots = kit.dots(
        [sweep.temperature] * n,
        sweep.weights.astype(np.float32),
        [f"@cat{i}" for i in range(n)],
        size=11,
        hover="T = %{x:g}: weight %{y:.4f}",
        showlegend=False,
    )
    shapes = [
        kit.upright(sweep.temperature, "@accent", width=1.5, xref="x"),
        kit.across(1 / n, width=1, dash="dash", yref="y"),
    ]
    note = kit.note(f"equal weights: 1/{n}", 0.01, 1 / n, paper="x", yanchor="bottom", xanchor="left")
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "temperature T",
            [-1, 2],
            log=True,
            tickvals=[0.1, 0.3, 1, 3, 10, 30, 100],
            ticktext=["0.1", "0.3", "1", "3", "10", "30", "100"],
        ),
        yaxis=kit.axis("weight", [-0.02, 1.02]),
        shapes=shapes,
        annotations=[note],
        margin={"t": 40},
    )
    return theme.build([*lines, dots], layout)
