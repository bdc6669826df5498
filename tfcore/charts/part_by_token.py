"""A map of signed numbers: a row for each part of a model, a column for each token of a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import MOST_LABELS, SLANT, hover_ticks, label_room, ticks

MOST_NUMBERS = 100  # cells up to which each has its number written in it


def part_by_token(
    values: Float[ndarray, "row next"],
    rows: Sequence[str],
    labels: Sequence[str],
    limit: float,
    chosen: tuple[int, int],
    hover: str,
    axis: str,
    height: int,
) -> go.Figure:
    """Signed numbers, a row for each part of a model and a column for each token of a text.

    Args:
        labels: of the tokens, safe for plotly.
        limit: the largest number that has a colour of its own.
        chosen: row and column that are framed; a column of -1 frames none.
        hover: sentence for a cell; %{y} is the row, %{x} the token with its position, %{z} the number.
        axis: what the tokens are.
    """
    n_rows, n = values.shape
    cells = kit.cells(
        values.astype(np.float32),
        "@signed",
        -limit,
        limit,
        hover=hover,
        xgap=1,
        ygap=1,
        hoverongaps=False,
        texttemplate="%{z:.2f}" if values.size <= MOST_NUMBERS else "",
        textfont={"size": 11},
        showscale=values.size > MOST_NUMBERS,
        colorbar=kit.colour_bar(),
    )
    plain: dict[str, Any] = {"showgrid": False, "fixedrange": True, "automargin": False}
    across = [-0.5, n - 0.5]
    row, column = chosen
    spans = [(-0.5, n - 0.5, row - 0.5, row + 0.5)] + (
        [(column - 0.5, column + 0.5, -0.5, n_rows - 0.5)] if column >= 0 else []
    )
    unseen = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x2", "hoverinfo": "skip", "showlegend": False}
    layout = theme.base_layout(
        height,
        xaxis={**plain, **hover_ticks(labels), "range": across},
        xaxis2={
            **plain,
            **ticks(labels, 2 * MOST_LABELS),
            "range": across,
            "overlaying": "x",
            "side": "bottom",
            "tickangle": -SLANT,
            "title": {"text": axis, "standoff": 4},
        },
        yaxis={
            **plain,
            "tickvals": list(range(n_rows))[:: (step := -(-13 * n_rows // height))],
            "ticktext": list(rows)[::step],
            "range": [n_rows - 0.5, -0.5],
            "automargin": True,
        },
        margin={"l": 96, "r": 8, "t": 10, "b": label_room(labels, SLANT) + 26},
        shapes=[kit.box(x0, x1, y0, y1, edge="@accent", width=1.5) for x0, x1, y0, y1 in spans],
    )
    return theme.build([cells, unseen], layout)
