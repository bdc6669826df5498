"""A matrix of what each pair of tokens of two sentences adds to the cosine of their vectors."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import SLANT, label_room, matrix_layout

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
    layout = matrix_layout(one, two, height, "first sentence", "second sentence")
    return theme.build([cells, unseen], layout)
