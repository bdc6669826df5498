"""Figures of dropout."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.figures import theme
from tfcore.figures.ranges import round_up
from tfcore.views.block.residuals.measure.dropout import DropoutDraws

MEAN_BINS = 48


NUMBERS_DRAWN = 64  # numbers of the vector that are drawn


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
