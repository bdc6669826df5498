"""Pictures of attention over a picture: what a token sees laid over it, every head small, distances by layer."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tiles import tiles

# Of weights laid over a picture: where there is none, it is nearly hidden, and where it is largest, it is clear.
VEIL = [[0.0, "@paper/0.92"], [0.5, "@paper/0.35"], [1.0, "@paper/0"]]
COLUMNS = 4  # of small maps
MOST_COLUMNS = 8


def laid_over(
    address: str, weights: Float[ndarray, "row column"], chosen: tuple[int, int] | None, height: int
) -> go.Figure:
    """A picture that is clear where a token attends to it.

    Args:
        address: the picture, as data:image/...
        chosen: row and column of the query's patch, which is framed; None for a learned token.
    """
    rows = len(weights)
    largest = float(weights.max()) or 1.0
    cells = kit.cells(
        weights.astype(np.float32), VEIL, 0, largest, hover="row %{y}, column %{x}: weight %{z:.4f}", showscale=False
    )
    axis = {"showgrid": False, "fixedrange": True, "showticklabels": False, "zeroline": False, "constrain": "domain"}
    image = {"source": address, "xref": "x", "yref": "y", "x": -0.5, "y": -0.5, "sizex": rows, "sizey": rows}
    frames = []
    if chosen is not None:
        row, column = chosen
        frames = [
            kit.box(column - 0.5, column + 0.5, row - 0.5, row + 0.5, edge=edge, width=width)
            for edge, width in (("@paper", 6), ("@query", 3))
        ]
    layout = theme.base_layout(
        height,
        xaxis={**axis, "range": [-0.5, rows - 0.5]},
        yaxis={**axis, "range": [rows - 0.5, -0.5], "scaleanchor": "x"},
        images=[image | {"sizing": "stretch", "layer": "below"}],
        shapes=frames,
        showlegend=False,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
    )
    return theme.build([cells], layout)


def small_maps(
    grids: Float[ndarray, "head row column"], layer: int, selected: int, hovers: list[str], height: int
) -> go.Figure:
    """The map of every head of a layer, each from 0 to its own largest weight."""
    largest = np.maximum(grids.max((-2, -1), keepdims=True), 1e-12)
    heads = len(grids)
    columns = min(heads, COLUMNS if heads <= 16 else MOST_COLUMNS)  # rows of a few, so that the tiles fill a square
    columns = 3 if heads == 6 else columns
    return tiles(
        grids / largest,
        [f"{layer}.{head}" for head in range(heads)],
        columns,
        hovers=hovers,
        customdata=[[layer, head] for head in range(heads)],
        selected=selected,
        height=height,
        above=0.16,
    )
