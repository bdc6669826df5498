"""The figure of sublayer ablation."""

import math

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.views.block.residuals.measure.ablation import SubsetLosses

LEAST_LOSS = 1e-3  # nats, where the axis begins at the lowest: a loss of 0 has no place on a logarithmic one
COLUMN_WIDTH = 0.7  # of a column of dots, in steps of the axis


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
    dots = kit.dots(
        x.astype(np.float32),
        loss.astype(np.float32),
        "@residual/0.55",
        name="one set",
        size=6,
        hover="without %{text}<br>loss %{y:.2f} nats",
        customdata=np.arange(len(loss)),
        text=words,
    )
    mean = kit.line(
        np.arange(n + 1),
        means,
        "@ink",
        name="mean of all sets",
        width=1.5,
        dash="dot",
        hover="%{y:.2f}<extra>mean</extra>",
    )
    mark = kit.dots(
        x[[chosen]],
        loss[[chosen]].astype(np.float32),
        "@accent",
        name="your set",
        size=15,
        symbol="diamond",
        marker={"line": {"color": "@paper", "width": 1.5}},
        hover=False,
    )
    low, high = float(loss.min()), float(loss.max())
    powers = [p for e in (-2, -1, 0, 1, 2) for m in (1, 2, 5) if 0.7 * low < (p := m * 10**e) < 1.4 * high]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("sublayers left out", [-0.6, n + 0.6], grid=False, dtick=1),
        yaxis=kit.axis(
            "loss (nats per token)", [math.log10(0.85 * low), math.log10(1.15 * high)], log=True, tickvals=powers
        ),
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
