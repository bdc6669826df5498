"""Attention of a few tokens as a row of matrices with the numbers in their cells; softmax at many temperatures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy import ndarray

from tfcore.figures import theme
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
            {
                "text": f"<b>{title}</b>",
                "xref": "paper",
                "yref": "paper",
                "x": sum(domain) / 2,
                "y": 1,
                "yshift": 26,
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 14},
            }
        )
        if i:
            notes.append(
                {
                    "text": "→",
                    "xref": "paper",
                    "yref": "paper",
                    "x": (left - GAP / 2) / width,
                    "y": 0.5,
                    "showarrow": False,
                    "font": {"size": 18, "color": "@muted"},
                }
            )
        shapes.append(
            {
                "type": "rect",
                "xref": f"x{number}",
                "yref": "y",
                "x0": -0.5,
                "x1": n - 0.5,
                "y0": chosen - 0.5,
                "y1": chosen + 0.5,
                "line": {"color": "@accent", "width": 2},
            }
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
    return {
        "type": "heatmap",
        "z": values.astype(np.float32),
        "xaxis": axis,
        "yaxis": "y",
        "colorscale": scale,
        "zmin": low,
        "zmax": high,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{z:.2f}",
        "textfont": {"size": 14},
        "hovertemplate": hover + "<extra></extra>",
    }


def _columns(labels: Sequence[str], domain: list[float]) -> dict[str, Any]:
    """The columns of one matrix: keys, or coordinates of the output."""
    colour = "@value" if labels is OUTPUT_COLUMNS else "@key"
    return {
        "domain": domain,
        "range": [-0.5, len(labels) - 0.5],
        "tickvals": list(range(len(labels))),
        "side": "top",
        "ticktext": list(labels),
        "tickfont": {"family": theme.MONO, "size": 13, "color": colour},
        "showgrid": False,
        "fixedrange": True,
        "automargin": False,
        "tickangle": 0,
    }


def temperature_figure(sweep: TemperatureSweep, height: int = 320) -> go.Figure:
    """The weights as curves over the temperature, with the chosen one marked."""
    n = len(sweep.scores)
    names = [f"x<sub>{i + 1}</sub> = {score:g}" for i, score in enumerate(sweep.scores)]
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": sweep.temperatures.astype(np.float32),
            "name": names[i],
            "y": sweep.curves[:, i].astype(np.float32),
            "line": {"color": f"@cat{i}", "width": 2.5, "dash": dash},
            "hovertemplate": "T = %{x:.2f}: weight %{y:.4f}<extra>" + names[i] + "</extra>",
        }
        for i, dash in zip(range(n), ("solid", "dash", "dot"), strict=False)
    ]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": [sweep.temperature] * n,
        "y": sweep.weights.astype(np.float32),
        "marker": {"size": 11, "color": [f"@cat{i}" for i in range(n)]},
        "showlegend": False,
        "hovertemplate": "T = %{x:g}: weight %{y:.4f}<extra></extra>",
    }
    shapes = [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": sweep.temperature,
            "x1": sweep.temperature,
            "y0": 0,
            "y1": 1,
            "line": {"color": "@accent", "width": 1.5},
            "layer": "below",
        },
        {
            "type": "line",
            "xref": "paper",
            "yref": "y",
            "x0": 0,
            "x1": 1,
            "y0": 1 / n,
            "y1": 1 / n,
            "line": {"color": "@muted", "width": 1, "dash": "dash"},
            "layer": "below",
        },
    ]
    note = {
        "xref": "paper",
        "x": 0.01,
        "y": 1 / n,
        "yanchor": "bottom",
        "xanchor": "left",
        "showarrow": False,
        "text": f"equal weights: 1/{n}",
        "font": {"size": 12, "color": "@muted"},
    }
    layout = theme.base_layout(
        height,
        xaxis={
            "title": "temperature T",
            "type": "log",
            "range": [-1, 2],
            "tickvals": [0.1, 0.3, 1, 3, 10, 30, 100],
            "ticktext": ["0.1", "0.3", "1", "3", "10", "30", "100"],
        },
        yaxis={"title": "weight", "range": [-0.02, 1.02]},
        shapes=shapes,
        annotations=[note],
        margin={"t": 40},
    )
    return theme.build([*lines, dots], layout)
