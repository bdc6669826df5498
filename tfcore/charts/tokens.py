"""Matrices with tokens on their axes: who looks at whom.

Positions are integers, so that two equal tokens stay two rows. Tokens arrive as labels that are visible and safe for
plotly (`pages.ui.text.tick_labels`).
"""

import math
from collections.abc import Sequence
from html import unescape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Shaped
from numpy import ndarray

from tfcore.charts import theme
from tfcore.measures.token_text import unisolated

QUERY = "query token"
KEY = "key token"
ATTENDS = "%{y} attends to %{x} with %{z:.2f}"  # "'it' (7) attends to 'cat' (2) with 0.83"
MAY_NOT = "%{y} may not see %{x}"
MOST_LABELS = 28  # written along one side of a matrix; the hover sentence knows all of them
HATCH_LINES = 64  # more than that many across a side run together
# Of the labels, monospace at 11 px: width of a letter and of a Chinese one, height of a line; slant under the matrix.
LETTER, WIDE_LETTER, LINE, SLANT = 6.7, 12.0, 10.5, 60


def token_heatmap(
    values: Shaped[ndarray, "query key"],
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    blocked: Bool[ndarray, "query key"] | None = None,
    scale: str = "@weights",
    zmin: float = 0.0,
    zmax: float = 1.0,
    hover: str = ATTENDS,
    blocked_hover: str = MAY_NOT,
    bar: bool = True,
    most_keys: int = MOST_LABELS,
    title: str = QUERY,
    height: int = 420,
) -> go.Figure:
    """One matrix, query down and key across, a token at each row and column.

    Args:
        values: any numbers; they travel as float32.
        queries: one label a row, safe for plotly.
        keys: one label a column; the queries' when left out.
        blocked: True where there is no value to show: grey and hatched, so that no eye takes it for a low value.
        scale, zmin, zmax: colour scale and the fixed range it covers.
        hover: sentence for a cell; %{y} is the query's token with its position, %{x} the key's, %{z} the value.
        blocked_hover: sentence for a blocked cell.
        bar: show the colour bar.
        most_keys: labels written under the matrix; fewer where it is narrow.
        title: of the rows, safe for plotly.
        height: in pixels.
    """
    keys = queries if keys is None else keys
    blocked = np.zeros(values.shape, dtype=bool) if blocked is None else blocked
    x, y = hatch(blocked)
    # Under the pointer the last trace that has a value counts: a blocked cell has none in the second.
    data = [
        {
            "type": "heatmap",
            "z": blocked.astype(np.uint8),
            "zmin": 0,
            "zmax": 1,
            "showscale": False,
            "colorscale": [[0, "@muted/0"], [1, "@muted/0.16"]],
            "hovertemplate": blocked_hover + "<extra></extra>",
        },
        {
            "type": "heatmap",
            "z": np.where(blocked, np.nan, values).astype(np.float32),
            "hoverongaps": False,
            "zmin": zmin,
            "zmax": zmax,
            "colorscale": scale,
            "hovertemplate": hover + "<extra></extra>",
            "showscale": bar,
            "colorbar": {"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
        },
        {
            "type": "scatter",
            "mode": "lines",
            "x": x,
            "y": y,
            "xaxis": "x2",
            "yaxis": "y2",
            "hoverinfo": "skip",
            "line": {"color": "@muted/0.6", "width": 1},
            "showlegend": False,
        },
    ]
    return theme.build(data, matrix_layout(queries, keys, height, title, KEY, most_keys))


def mask_figure(allowed: Bool[ndarray, "query key"], labels: Sequence[str], height: int) -> go.Figure:
    """The mask itself: one colour where the query may see the key, hatched grey where not."""
    return token_heatmap(
        allowed,
        labels,
        blocked=~allowed,
        scale="@seq:attention",
        zmax=1.4,
        hover="%{y} may see %{x}",
        bar=False,
        height=height,
    )


def matrix_layout(
    rows: Sequence[str], columns: Sequence[str], height: int, title: str, below: str, most: int = MOST_LABELS
) -> dict[str, Any]:
    """Two axes a side: the lower one knows every token, for the hover sentence, the upper writes as many as fit.

    Args:
        title, below: of the rows and of the columns.
        most: labels written below.
    """
    left, room = label_room(rows), label_room(columns, SLANT)
    across, down = [-0.5, len(columns) - 0.5], [len(rows) - 0.5, -0.5]
    axis = {"showgrid": False, "fixedrange": True, "automargin": False}
    return theme.base_layout(
        height,
        margin={"l": left + 26, "r": 8, "t": 12, "b": room + 26},
        xaxis={**axis, **hover_ticks(columns), "range": across},
        yaxis={**axis, **hover_ticks(rows), "range": down},
        xaxis2={
            **axis,
            **ticks(columns, most),
            "range": across,
            "overlaying": "x",
            "anchor": "y2",
            "side": "bottom",
            "tickangle": -SLANT,
            "title": {"text": below, "standoff": 4},
        },
        yaxis2={
            **axis,
            **ticks(rows, int((height - room - 38) / LINE)),
            "range": down,
            "overlaying": "y",
            "anchor": "x2",
            "side": "left",
            "title": {"text": title, "standoff": 4},
        },
    )


def hover_ticks(labels: Sequence[str]) -> dict[str, Any]:
    """All tokens as the hover sentence names them, none of them written: in quotes, with the position that tells equal
    tokens apart, and the bytes of one that is a part of a character."""
    names = [f"'{getattr(label, 'hover', label)}' ({i})" for i, label in enumerate(labels)]
    return {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names, "showticklabels": False}


def ticks(labels: Sequence[str], most: int = MOST_LABELS) -> dict[str, Any]:
    """Labels written at the positions 0, 1, 2 ..., or at every second, third ... where there are more than `most`."""
    places = list(range(0, len(labels), -(-len(labels) // max(most, 1)) or 1))
    font = {"family": theme.MONO, "size": 11, "color": "@muted"}
    return {"tickmode": "array", "tickvals": places, "ticktext": [labels[i] for i in places], "tickfont": font}


def token_axis(labels: Sequence[str], most: int = MOST_LABELS) -> dict[str, Any]:
    """The axis under bars, one for each token of a text."""
    return {
        **ticks(labels, most),
        "range": [-0.6, len(labels) - 0.4],
        "tickangle": -SLANT,
        "automargin": False,
        "showgrid": False,
        "fixedrange": True,
    }


def label_room(labels: Sequence[str], slant: int = 0) -> float:
    """Pixels that the longest label takes beside an axis, or under one, where it is written at a slant (degrees)."""
    widths = (sum(WIDE_LETTER if ord(c) > 0x2E80 else LETTER for c in unescape(unisolated(label))) for label in labels)
    longest = max(widths, default=0.0) + 8
    return longest if not slant else longest * math.sin(math.radians(slant)) + 6


def hatch(blocked: Bool[ndarray, "query key"]) -> tuple[ndarray, ndarray]:
    """Strokes through the blocked cells, rising to the right, as x and y of a line with gaps (NaN).

    Neighbours along a rising diagonal share one stroke, so that a triangle of n * n / 2 cells takes about 2 n strokes.
    """
    n_query, n_key = blocked.shape
    every = -(-max(n_query, n_key) // HATCH_LINES)
    total = np.arange(0, n_query + n_key - 1, every)[:, None]  # query + key: one number for each rising diagonal
    key = np.arange(n_key)[None, :]
    query = total - key
    inside = (query >= 0) & (query < n_query)
    on = inside & blocked[np.clip(query, 0, n_query - 1), key]  # (diagonal, key)
    edge = np.diff(on.astype(np.int8), prepend=0, append=0)
    row, first = np.nonzero(edge == 1)
    end = np.nonzero(edge == -1)[1]
    gap = np.full(len(first), np.nan)
    x = np.stack((first - 0.5, end - 0.5, gap), axis=1)
    y = np.stack((total[row, 0] - first + 0.5, total[row, 0] - end + 0.5, gap), axis=1)
    nothing = np.full(1, np.nan)  # the axes need a trace, even an empty one
    return tuple(np.append(c.ravel(), nothing).astype(np.float32) for c in (x, y))  # type: ignore[return-value]
