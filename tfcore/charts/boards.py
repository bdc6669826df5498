"""A board with one field for each part of a model: layers down, heads (and feed-forward layers) across."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import label_room

MOST_NUMBERS = 200  # fields up to which each has its number written in it
ROW = 40  # pixels, of a row where there are few
HIGHEST = 780  # pixels, of all rows
AROUND = 60  # pixels above and below the rows
MOST_NAMED = 14  # columns up to which each is named: upright names of two digits fit on a phone, too
LOW = 30  # pixels: in lower rows there is no room above a number for a mark, so marks stand beside it


def board_height(n_layers: int, row: int = ROW) -> int:
    """The height of a board, in pixels: with more layers its rows are lower."""
    return AROUND + min(row * n_layers, max(HIGHEST, 14 * n_layers))


def board(
    values: Float[ndarray, "layer part"],
    parts: Sequence[str],
    hover: str,
    *,
    limit: float,
    estimated: Bool[ndarray, "layer part"] | None = None,
    selected: Collection[tuple[int, int]] = (),
    digits: int = 2,
    crossed: Bool[ndarray, "layer part"] | None = None,
    words: Sequence[Sequence[str]] | None = None,
    across: str = "",
    rows: Sequence[str] = (),
    height: int,
) -> go.Figure:
    """Signed numbers, one a field, written in it and shown by its colour; a click carries [layer, column].

    Args:
        values: NaN where a layer has no such part.
        parts: names of the columns; FF is a feed-forward layer.
        hover: sentence for a field; %{y} is the layer, %{text} its word, %{z} the number.
        limit: the largest number that has a colour of its own; larger ones get a triangle.
        estimated: fields whose number is an estimate; they are pale.
        selected: fields with a frame, as (layer, column).
        digits: after the point.
        crossed: fields with a cross in their corner, beside the number where rows are low, or in their middle where no
            numbers are written.
        words: for %{text} of each field; the column's name where none are given.
        across: title of the columns; by default that of heads.
        rows: names of the rows; by default numbers of layers.
        height: in pixels.
    """
    n_layers, n_parts = values.shape
    title, left = ("", label_room(rows)) if rows else ("layer", 44)
    places = [[[layer, column] for column in range(n_parts)] for layer in range(n_layers)]
    names = words or [[f"{parts[column]}" for column in range(n_parts)] for _ in range(n_layers)]
    written, high = values.size <= MOST_NUMBERS, (height - AROUND) / n_layers >= LOW
    pale = np.zeros(values.shape, dtype=bool) if estimated is None else estimated
    fields: dict[str, Any] = kit.cells(
        np.where(pale, np.nan, values).astype(np.float32),
        "@signed",
        -limit,
        limit,
        hover=hover,
        customdata=places,
        text=names,
        xgap=2,
        ygap=2,
        hoverongaps=False,
        showscale=not written,
        colorbar=kit.colour_bar(),
        texttemplate=f"%{{z:.{digits}f}}" if written else "",
        textfont={"size": 12 if n_parts <= 14 else 9},
    )
    traces = [fields]
    if pale.any():
        z = np.where(pale, values, np.nan).astype(np.float32)
        hovers = {"hovertemplate": f"{hover}, estimated<extra></extra>", "showscale": False}
        traces.append({**fields, **hovers, "z": z, "opacity": 0.45})
    if (beyond := np.abs(np.nan_to_num(values)) > limit * (1 + 1e-6)).any():
        traces.append(triangles(values, beyond, (0.0, 0.3 * written) if high else (-0.36 * written, 0.0)))
    if crossed is not None and crossed.any():
        traces.append(crosses(crossed, (0.36 * written, 0.3 * written * high)))
    frame = {"color": "@accent", "width": 3}
    axis: dict[str, Any] = {"showgrid": False, "fixedrange": True, "tickmode": "array"}
    named = named_columns(parts)
    layout = theme.base_layout(
        height,
        xaxis={
            **axis,
            "tickvals": named,
            "ticktext": [parts[column] for column in named],
            "side": "top",
            "range": [-0.5, n_parts - 0.5],
            "tickangle": 0,
            "title": {"text": across or title_of(parts), "standoff": 2},
        },
        yaxis={
            **axis,
            "tickvals": list(range(n_layers)),
            **({"ticktext": list(rows)} if rows else {}),
            "title": title,
            "range": [n_layers - 0.5, -0.5],
        },
        margin={"l": left, "r": 8, "t": 50, "b": 8},
        shapes=[
            kit.box(column - 0.5, column + 0.5, layer - 0.5, layer + 0.5, line=frame) for layer, column in selected
        ],
    )
    return theme.build(traces, layout)


def title_of(parts: Sequence[str]) -> str:
    """The title of columns that are heads and other parts."""
    others = {"mix": "mixer", "FF": "feed-forward"}
    named = ", ".join(f"{part}: {others[part]}" for part in parts if part in others)
    return f"head ({named})" if named else "head"


def named_columns(parts: Sequence[str]) -> list[int]:
    """The columns whose names are written: all of a few, of more every second, third ... and FF, where it has room."""
    every = math.ceil(len(parts) / MOST_NAMED)
    named = list(range(0, len(parts), every))
    if parts and parts[-1] == "FF":
        named = [column for column in named if column <= len(parts) - 1 - every] + [len(parts) - 1]
    return named


def triangles(
    values: Float[ndarray, "row column"], beyond: Bool[ndarray, "row column"], aside: tuple[float, float]
) -> dict[str, Any]:
    """A mark in each cell whose value is beyond the scale: up where it is positive, down where it is negative.

    Args:
        aside: how far to the right of, and above, the middle of its cell.
    """
    row, column = np.nonzero(beyond)
    return kit.dots(
        (column + aside[0]).astype(np.float32),
        (row - aside[1]).astype(np.float32),
        "@paper",
        symbol=["triangle-up" if values[place] > 0 else "triangle-down" for place in zip(row, column, strict=True)],
        size=8,
        marker={"line": {"color": "@ink", "width": 1}},
        hover=False,
        showlegend=False,
    )


def crosses(where: Bool[ndarray, "row column"], aside: tuple[float, float]) -> dict[str, Any]:
    """A small cross in each of some cells.

    Args:
        aside: how far to the right of, and above, the middle of its cell.
    """
    row, column = np.nonzero(where)
    return kit.dots(
        (column + aside[0]).astype(np.float32),
        (row - aside[1]).astype(np.float32),
        symbol="x-thin",
        size=6,
        marker={"line": {"color": "@muted", "width": 1.2}},
        hover=False,
        showlegend=False,
    )
