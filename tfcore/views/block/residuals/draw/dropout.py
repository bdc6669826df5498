"""Figures of dropout."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.ranges import round_up
from tfcore.views.block.residuals.measure.dropout import DropoutDraws

MEAN_BINS = 48


NUMBERS_DRAWN = 64  # numbers of the vector that are drawn


def dropout_figure(result: DropoutDraws, height: int = 300) -> go.Figure:
    """One draw: the first numbers as they were (dashes) and after dropout (bars); crosses mark those set to zero."""
    before, after, kept = (values[:NUMBERS_DRAWN] for values in (result.before, result.after, result.kept))
    x = np.arange(len(before))
    gone = x[~kept]
    data: list[dict[str, Any]] = [
        kit.bars(
            x, after, "@residual", name="after", hover="number %{x}: %{customdata:.3f} → %{y:.3f}", customdata=before
        ),
        kit.dots(
            x,
            before,
            "@ink",
            name="before",
            symbol="line-ew-open",
            size=7,
            marker={"line": {"width": 1.8, "color": "@ink"}},
            hover=False,
        ),
        kit.dots(
            gone,
            np.zeros(len(gone)),
            "@accent",
            name="dropped",
            symbol="x-thin-open",
            size=6,
            marker={"line": {"width": 1.6}},
            hover="number %{x}: dropped",
        ),
    ]
    limit = round_up(1.05 * float(np.abs([before, after]).max()))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("number of the vector", [-1, len(x)], grid=False),
        yaxis=kit.axis("value", [-limit, limit], zero=True),
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
        kit.bars(centres, counts, "@residual/0.6", name="measured", hover="%{y} draws with a mean near %{x:.4f}")
    ]
    if result.spread:
        bell = np.exp(-(((centres - result.mean) / result.spread) ** 2) / 2)
        curve = bell * len(result.means) * (edges[1] - edges[0]) / (result.spread * math.sqrt(2 * math.pi))
        data.append(kit.line(centres, curve, "@ink", name="theory", width=2, hover=False))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("mean of the vector after dropout", [float(edges[0]), float(edges[-1])], nticks=6),
        yaxis=kit.axis("draws", nticks=5),
        shapes=[kit.upright(result.mean, "@accent", width=2, dash="dash", below=False)],
        annotations=[kit.note("mean before", result.mean, 1, "@accent", paper="y", yanchor="bottom")],
        bargap=0.05,
        legend={"y": 1.08},
        margin={"t": 52},
    )
    return theme.build(data, layout)
