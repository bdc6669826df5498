"""Figures of a rounded KV cache: the keys of a head by channel, and its attention weights before and after."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.analysis.inference.quantisation.cache_bits import CacheEffect
from tfcore.figures.theme import base_layout, build
from tfcore.figures.tokens import hover_ticks, label_room, token_heatmap


def channels_map(effect: CacheEffect, labels: Sequence[str], what: str, height: int) -> go.Figure:
    """Keys or values of a head, a row for each token and a column for each channel.

    Args:
        labels: of the tokens, safe for plotly.
        what: "keys" or "values".
    """
    numbers = effect.keys if what == "keys" else effect.values
    most = max(float(np.abs(numbers).max()), 1e-6)
    cells = {
        "type": "heatmap",
        "z": numbers.astype(np.float32),
        "zmin": -most,
        "zmax": most,
        "colorscale": "@signed",
        "hovertemplate": "%{y}, channel %{x}: %{z:.2f}<extra></extra>",
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
    }
    layout = base_layout(
        height,
        margin={"l": label_room(labels) + 26, "r": 8, "t": 12, "b": 44},
        xaxis={"title": f"channel of the {what}", "showgrid": False, "fixedrange": True},
        yaxis={
            **hover_ticks(labels),
            "range": [len(labels) - 0.5, -0.5],
            "showgrid": False,
            "fixedrange": True,
            "automargin": False,
            "showticklabels": True,
        },
    )
    return build([cells], layout)


def moved_figure(effect: CacheEffect, labels: Sequence[str], height: int) -> go.Figure:
    """How much the weight of every pair changes: red where more goes than before, blue where less."""
    blocked = ~np.tri(len(labels), dtype=bool)
    difference = effect.after - effect.before
    most = max(float(np.abs(difference).max()), 1e-3)
    return token_heatmap(
        difference,
        labels,
        blocked=blocked,
        scale="@signed",
        zmin=-most,
        zmax=most,
        hover="%{y} attends to %{x} with %{z:+.3f} more than before",
        height=height,
    )
