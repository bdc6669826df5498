"""Figures of a rounded KV cache: the keys of a head by channel, and its attention weights before and after."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.theme import base_layout, build
from tfcore.charts.tokens import LINE, hover_ticks, label_room, ticks, token_heatmap
from tfcore.views.inference.quantisation.measure.cache_rounding import CacheEffect

TOP, BOTTOM = 12, 44  # pixels around the map of channels
MOST_KEYS = 12  # labels under the map of weights, which is about 170 pixels wide beside the other


def channels_map(effect: CacheEffect, labels: Sequence[str], what: str, height: int) -> go.Figure:
    """Keys or values of a head, a row for each token and a column for each channel.

    Args:
        labels: of the tokens, safe for plotly.
        what: "keys" or "values".
    """
    numbers = effect.keys if what == "keys" else effect.values
    most = max(float(np.abs(numbers).max()), 1e-6)
    cells = kit.cells(
        numbers.astype(np.float32),
        "@signed",
        -most,
        most,
        hover="%{y}, channel %{x}: %{z:.2f}",
        colorbar=kit.colour_bar(),
    )
    axis = {"range": [len(labels) - 0.5, -0.5], "showgrid": False, "fixedrange": True, "automargin": False}
    anchor = {"type": "scatter", "x": [None], "y": [None], "yaxis": "y2", "hoverinfo": "skip", "showlegend": False}
    layout = base_layout(
        height,
        margin={"l": label_room(labels) + 26, "r": 8, "t": TOP, "b": BOTTOM},
        xaxis=kit.axis(f"channel of the {what}", fixed=True, grid=False),
        yaxis={**axis, **hover_ticks(labels)},  # all tokens, for the hover; the other axis writes as many as fit
        yaxis2={
            **axis,
            **ticks(labels, int((height - TOP - BOTTOM) / LINE)),
            "overlaying": "y",
            "anchor": "x",
            "side": "left",
        },
    )
    return build([cells, anchor], layout)


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
        most_keys=MOST_KEYS,
        height=height,
    )
