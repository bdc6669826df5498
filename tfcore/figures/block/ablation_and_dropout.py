"""Figures of sublayer ablation and of dropout."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.block.ablation_and_dropout import DropoutDraws, SubsetLosses
from tfcore.figures import theme
from tfcore.figures.ranges import round_up

LEAST_LOSS = 1e-3  # nats, where the axis begins at the lowest: a loss of 0 has no place on a logarithmic one
COLUMN_WIDTH = 0.7  # of a column of dots, in steps of the axis
MEAN_BINS = 48
NUMBERS_DRAWN = 64  # numbers of the vector that are drawn


def subsets_figure(result: SubsetLosses, chosen: int, height: int = 420) -> go.Figure:
    """The loss of every set of sublayers left out, by how many those are; the chosen set stands out.

    Args:
        result: losses of all sets.
        chosen: row of the set to mark.
        height: in pixels.
    """
    loss, n = result.loss.clip(LEAST_LOSS), int(result.removed.max())
    x = result.removed + _beside(result.removed, loss)
    means = np.array([loss[result.removed == k].mean() for k in range(n + 1)], dtype=np.float32)
    words = [
        ", ".join(name for s, name in enumerate(result.sublayers) if not row >> s & 1) or "nothing"
        for row in range(len(loss))
    ]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": x.astype(np.float32),
        "y": loss.astype(np.float32),
        "marker": {"size": 6, "color": "@residual/0.55"},
        "name": "one set",
        "customdata": np.arange(len(loss)),
        "text": words,
        "hovertemplate": "without %{text}<br>loss %{y:.2f} nats<extra></extra>",
    }
    mean = {
        "type": "scatter",
        "mode": "lines",
        "x": np.arange(n + 1),
        "y": means,
        "name": "mean of all sets",
        "line": {"color": "@ink", "width": 1.5, "dash": "dot"},
        "hovertemplate": "%{y:.2f}<extra>mean</extra>",
    }
    mark = {
        "type": "scatter",
        "mode": "markers",
        "x": x[[chosen]],
        "y": loss[[chosen]].astype(np.float32),
        "marker": {"size": 15, "symbol": "diamond", "color": "@accent", "line": {"color": "@paper", "width": 1.5}},
        "name": "your set",
        "hoverinfo": "skip",
    }
    low, high = float(loss.min()), float(loss.max())
    powers = [p for e in (-2, -1, 0, 1, 2) for m in (1, 2, 5) if 0.7 * low < (p := m * 10**e) < 1.4 * high]
    layout = theme.base_layout(
        height,
        xaxis={"title": "sublayers left out", "range": [-0.6, n + 0.6], "dtick": 1, "showgrid": False},
        yaxis={
            "title": "loss (nats per token)",
            "type": "log",
            "tickvals": powers,
            "range": [math.log10(0.85 * low), math.log10(1.15 * high)],
        },
    )
    return theme.build([dots, mean, mark], layout)


def _beside(column: Int[ndarray, " subset"], loss: Float[ndarray, " subset"]) -> Float[ndarray, " subset"]:
    """How far each dot of a column is moved sideways, so that dots do not lie on each other: by its rank in turn."""
    shift = np.zeros(len(column))
    for k in np.unique(column):
        members = np.flatnonzero(column == k)
        order = members[np.argsort(loss[members])]
        places = np.linspace(-COLUMN_WIDTH / 2, COLUMN_WIDTH / 2, min(len(order), 7)) if len(order) > 1 else np.zeros(1)
        shift[order] = places[np.arange(len(order)) * 3 % len(places)]
    return shift


def dropout_figure(result: DropoutDraws, height: int = 300) -> go.Figure:
    """One draw: the first numbers as they were (dashes) and after dropout (bars); crosses mark those set to zero."""
    before, after, kept = (values[:NUMBERS_DRAWN] for values in (result.before, result.after, result.kept))
    x = np.arange(len(before))
    gone = x[~kept]
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": x,
            "y": after,
            "name": "after",
            "marker": {"color": "@residual"},
            "customdata": before,
            "hovertemplate": "number %{x}: %{customdata:.3f} → %{y:.3f}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": x,
            "y": before,
            "name": "before",
            "marker": {"symbol": "line-ew-open", "size": 7, "color": "@ink", "line": {"width": 1.8, "color": "@ink"}},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": gone,
            "y": np.zeros(len(gone)),
            "name": "dropped",
            "marker": {"symbol": "x-thin-open", "size": 6, "color": "@accent", "line": {"width": 1.6}},
            "hovertemplate": "number %{x}: dropped<extra></extra>",
        },
    ]
    limit = round_up(1.05 * float(np.abs([before, after]).max()))
    layout = theme.base_layout(
        height,
        xaxis={"title": "number of the vector", "range": [-1, len(x)], "showgrid": False},
        yaxis={"title": "value", "range": [-limit, limit], "zeroline": True, "zerolinecolor": "@muted"},
        bargap=0.15,
    )
    return theme.build(data, layout)


def dropout_means_figure(result: DropoutDraws, height: int = 300) -> go.Figure:
    """Means after many draws as bars, the bell curve that theory gives, and the mean before as a line."""
    width = 4 * result.spread if result.spread else max(abs(result.mean), 1e-3)
    edges = np.linspace(result.mean - width, result.mean + width, MEAN_BINS + 1)
    counts, _ = np.histogram(result.means, edges)
    centres = (edges[:-1] + edges[1:]) / 2
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "x": centres,
            "y": counts,
            "name": "measured",
            "marker": {"color": "@residual/0.6"},
            "hovertemplate": "%{y} draws with a mean near %{x:.4f}<extra></extra>",
        }
    ]
    if result.spread:
        bell = np.exp(-(((centres - result.mean) / result.spread) ** 2) / 2)
        curve = bell * len(result.means) * (edges[1] - edges[0]) / (result.spread * math.sqrt(2 * math.pi))
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": centres,
                "y": curve,
                "name": "theory",
                "line": {"color": "@ink", "width": 2},
                "hoverinfo": "skip",
            }
        )
    layout = theme.base_layout(
        height,
        xaxis={"title": "mean of the vector after dropout", "range": [float(edges[0]), float(edges[-1])], "nticks": 6},
        yaxis={"title": "draws", "nticks": 5},
        shapes=[
            {
                "type": "line",
                "yref": "paper",
                "x0": result.mean,
                "x1": result.mean,
                "y0": 0,
                "y1": 1,
                "line": {"color": "@accent", "width": 2, "dash": "dash"},
            }
        ],
        annotations=[
            {
                "x": result.mean,
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
                "text": "mean before",
                "showarrow": False,
                "font": {"size": 12, "color": "@accent"},
            }
        ],
        bargap=0.05,
        legend={"y": 1.08},
        margin={"t": 52},
    )
    return theme.build(data, layout)
