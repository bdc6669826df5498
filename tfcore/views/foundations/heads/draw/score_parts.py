"""An attention score taken apart: what wrote at the query by what wrote at the key, and the largest pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.foundations.heads.measure.score_table import LargestPairs, ScoreTable

HEIGHT = 470  # pixels, of the matrix
WIDTH = 620  # pixels, from which on it is legible
PAIRS_WIDTH = 360
NUMBERS = 15  # rows and columns up to which every cell has its number
SIDE, GAP = 0.16, 0.015  # shares of the picture that the sums take, and the space before them
BELOW = 132  # pixels under the matrix, for slanted names


def score_matrix(table: ScoreTable, query: str, key: str, height: int = HEIGHT) -> go.Figure:
    """Rows: what wrote at the query. Columns: what wrote at the key. Cells: their parts of the score; bars: the sums.

    Args:
        query, key: labels of the two tokens, safe for plotly.
    """
    n_rows, n_columns = table.values.shape
    rows, columns = np.arange(n_rows), np.arange(n_columns)
    limit = max(1e-3, float(np.abs(table.values).max()))
    few = max(n_rows, n_columns) <= NUMBERS
    cells = kit.cells(
        table.values.astype(np.float32),
        "@signed",
        -limit,
        limit,
        hover=f"%{{customdata[0]}} at '{query}' × %{{customdata[1]}} at '{key}': %{{z:+.3f}}",
        showscale=False,
        xgap=1,
        ygap=1,
        texttemplate="%{z:.1f}" if few else "",
        textfont={"size": 10},
        customdata=[[[row, column] for column in table.columns] for row in table.rows],
    )
    sums = [(table.values.sum(1), table.rows, "h", query), (table.values.sum(0), table.columns, "v", key)]
    bars = [_bars(*one) for one in sums]
    axis: dict[str, Any] = {"showgrid": False, "fixedrange": True, "automargin": False}
    free = {**axis, "showticklabels": False, "zeroline": True, "zerolinecolor": "@muted"}
    font = {"size": 11, "color": "@muted"}
    layout = theme.base_layout(
        height,
        margin={"l": 158, "r": 34, "t": 22, "b": BELOW},
        xaxis={
            **axis,
            "domain": [0, 1 - SIDE - GAP],
            "range": [-0.5, n_columns - 0.5],
            "tickvals": columns.tolist(),
            "ticktext": list(table.columns),
            "tickangle": -50,
            "tickfont": font,
            "title": {"text": f"wrote at the key '{key}'", "standoff": 6},
        },
        yaxis={
            **axis,
            "domain": [0, 1 - SIDE - GAP],
            "range": [n_rows - 0.5, -0.5],
            "tickvals": rows.tolist(),
            "ticktext": list(table.rows),
            "tickfont": font,
            "title": {"text": f"wrote at the query '{query}'", "standoff": 6},
        },
        xaxis2={**free, "domain": [1 - SIDE, 1], "range": _span(sums[0][0]), "anchor": "y"},
        yaxis2={**free, "domain": [1 - SIDE, 1], "range": _span(sums[1][0]), "anchor": "x"},
        bargap=0.25,
        showlegend=False,
        annotations=[kit.note("sums", 1, 1, paper="xy", xanchor="right", yanchor="top")],
    )
    return theme.build([cells, *bars], layout)


def _bars(sums: np.ndarray, names: Sequence[str], way: str, token: str) -> dict[str, Any]:
    """The sum of each row, or column, as a bar with its number; on a pair of axes of their own."""
    places, values = list(range(len(sums))), sums.astype(np.float32)
    across = way == "h"
    return {
        "type": "bar",
        "orientation": way,
        "x": values if across else places,
        "y": places if across else values,
        **({"xaxis": "x2"} if across else {"yaxis": "y2"}),
        "marker": {"color": ["@query" if across else "@key"] * len(places)},
        "text": [f"{value:+.1f}" if abs(value) >= 0.05 else "" for value in sums],
        "textposition": "outside",
        "textangle": 0,
        "textfont": {"size": 10, "color": "@ink"},
        "cliponaxis": False,
        "customdata": list(names),
        "hovertemplate": f"%{{customdata}} at '{token}': %{{{'x' if across else 'y'}:+.3f}}<extra></extra>",
    }


def _span(sums: np.ndarray) -> list[float]:
    low, high = min(0.0, float(sums.min())), max(0.0, float(sums.max()))
    room = 0.22 * ((high - low) or 1.0)
    return [low - (room if low < 0 else 0), high + room]


def pairs_figure(largest: LargestPairs, bias: float, height: int = HEIGHT) -> go.Figure:
    """The largest pairs of writers as bars, by size, and the sum of all others behind them."""
    names = [f"{one} × {other}" for one, other, _ in largest.pairs]
    values = [value for _, _, value in largest.pairs]
    names, values = [*names, f"{largest.others:,} other pairs"], [*values, largest.rest]
    if bias:
        names, values = [*names, "position bias"], [*values, bias]
    end = max(1e-3, *(abs(value) for value in values))
    bars = kit.bars(
        np.asarray(values, dtype=np.float32),
        list(range(len(values))),
        ["@attention"] * len(largest.pairs) + ["@muted"] * (len(values) - len(largest.pairs)),
        hover="%{customdata}: %{x:+.3f}",
        orientation="h",
        text=[f"{value:+.2f}" for value in values],
        textposition="outside",
        textfont={"size": 11, "color": "@ink"},
        cliponaxis=False,
        customdata=names,
    )
    low, high = min(0.0, *values), max(0.0, *values)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "part of the score", [low - (0.4 * end if low < 0 else 0), high + 0.4 * end], fixed=True, zero=True
        ),
        yaxis=kit.axis(
            None,
            [len(names) - 0.4, -0.6],
            fixed=True,
            grid=False,
            tickvals=list(range(len(names))),
            ticktext=[name.replace(" × ", " ×<br>") if len(name) > 22 else name for name in names],
            tickfont={"size": 11, "color": "@muted"},
        ),
        margin={"t": 8, "r": 24},
        bargap=0.3,
        showlegend=False,
    )
    return theme.build([bars], layout)
