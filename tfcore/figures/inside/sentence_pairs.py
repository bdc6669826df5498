"""A matrix of what each pair of tokens of two sentences adds to the cosine of their vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import SLANT, hover_ticks, label_room, ticks

ROW = 24  # pixels, of a token
COLUMN = 28  # pixels, of a token at least


def pairs_height(rows: int, labels: Sequence[str]) -> int:
    """Of the matrix, in pixels."""
    return round(max(180, min(ROW * rows, 560)) + 12 + label_room(labels, SLANT) + 26)


def pairs_figure(parts: Float[ndarray, "one two"], one: Sequence[str], two: Sequence[str], height: int) -> go.Figure:
    """The first sentence down, the second across; blue takes from the cosine, red adds to it.

    Args:
        one, two: labels of the tokens, safe for plotly.
    """
    reach = max(float(np.abs(parts).max()), 1e-6)
    left, below = label_room(one), label_room(two, SLANT)
    cells = {
        "type": "heatmap",
        "z": parts.astype(np.float32),
        "zmin": -reach,
        "zmax": reach,
        "colorscale": "@signed",
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "%{y} with %{x}: %{z:+.4f}<extra></extra>",
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
    }
    unseen = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x2", "yaxis": "y2", "showlegend": False}
    axis: dict[str, Any] = {"showgrid": False, "fixedrange": True, "automargin": False}
    across, down = [-0.5, len(two) - 0.5], [len(one) - 0.5, -0.5]
    layout = theme.base_layout(
        height,
        margin={"l": left + 26, "r": 8, "t": 8, "b": below + 26},
        xaxis={**axis, **hover_ticks(two), "range": across},
        yaxis={**axis, **hover_ticks(one), "range": down},
        xaxis2={
            **axis,
            **ticks(two),
            "range": across,
            "overlaying": "x",
            "anchor": "y2",
            "side": "bottom",
            "tickangle": -SLANT,
            "title": {"text": "second sentence", "standoff": 4},
        },
        yaxis2={
            **axis,
            **ticks(one),
            "range": down,
            "overlaying": "y",
            "anchor": "x2",
            "side": "left",
            "title": {"text": "first sentence", "standoff": 4},
        },
    )
    return theme.build([cells, unseen], layout)
