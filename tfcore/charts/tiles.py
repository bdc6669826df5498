"""Small maps of weights side by side, each below its title."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.theme import base_layout, build


def tiles(
    maps: Float[ndarray, "tile row column"],
    titles: Sequence[str],
    columns: int,
    *,
    hovers: Sequence[str],
    customdata: Sequence[list[int]] | None = None,
    selected: int | None = None,
    limit: float | None = None,
    height: int,
    axes: tuple[str, str] | None = None,
    above: float | None = None,
) -> go.Figure:
    """Small maps of weights in rows of `columns`, each with a title of up to two lines above.

    Args:
        limit: of signed numbers, the largest that has a colour of its own; None means weights from 0 to 1.
        hovers: a sentence for each tile.
        customdata: what a click on a tile carries.
        selected: the tile with a strong frame.
        height: in pixels.
        axes: what goes down and across in every tile, said once for all.
        above: room for a title, in sides of a tile; tiles then are squares. None: they fill the figure.
    """
    down, across = maps.shape[1:]
    side = max(down, across)
    room = 0.4 if above is None else above
    pitch_x, pitch_y = side * 1.08, side * (room + 1.08)  # the space above a tile holds its title
    rows = -(-len(maps) // columns)
    middle = 0 if limit is None else 128  # the colour of the paper
    canvas = np.full((int(np.ceil(rows * pitch_y)), int(np.ceil(columns * pitch_x))), middle, dtype=np.uint8)
    corners = [(int(i // columns * pitch_y + side * room), int(i % columns * pitch_x)) for i in range(len(maps))]
    for tile, (top, left) in zip(maps, corners, strict=True):
        cells = 255 * tile if limit is None else 128 + 127 * np.clip(tile / limit, -1, 1)
        canvas[top : top + down, left : left + across] = np.round(cells).astype(np.uint8)
    image = {
        "type": "heatmap",
        "z": canvas,
        "zmin": min(1, middle),
        "zmax": 255,
        "showscale": False,
        "colorscale": "@weights" if limit is None else "@signed",
        "hoverinfo": "skip",
    }
    targets = {
        "type": "scatter",
        "mode": "markers",
        "x": [left + across / 2 for _, left in corners],
        "y": [top + down / 2 for top, _ in corners],
        "text": list(hovers),
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": 64, "opacity": 0, "symbol": "square"},
        "customdata": customdata,
    }
    hidden = {"visible": False, "fixedrange": True}
    square = {} if above is None else {"scaleanchor": "x", "constrain": "domain", "constraintoward": "top"}
    frames = [_frame(corner, (down, across), i == selected) for i, corner in enumerate(corners)]
    layout = base_layout(
        height,
        xaxis={**hidden, **({"constrain": "domain"} if square else {}), "range": [-1.5, columns * pitch_x]},
        yaxis={**hidden, **square, "range": [rows * pitch_y, -0.5]},
        margin={"l": 22 if axes else 4, "r": 4, "t": 4, "b": 20 if axes else 4},
        showlegend=False,
        shapes=sorted(frames, key=lambda frame: frame["line"]["width"]),  # the strong one on top
        annotations=[_title(corners[i], title, i == selected) for i, title in enumerate(titles)] + _axes(axes),
    )
    return build([image, targets], layout)


def _axes(axes: tuple[str, str] | None) -> list[dict[str, object]]:
    if axes is None:
        return []
    title = {"xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": 11, "color": "@muted"}}
    return [
        title | {"text": axes[0], "x": 0, "y": 0.5, "xanchor": "right", "yanchor": "middle", "textangle": -90},
        title | {"text": axes[1], "x": 0.5, "y": 0, "xanchor": "center", "yanchor": "top"},
    ]


def _frame(corner: tuple[int, int], size: tuple[int, int], selected: bool) -> dict[str, Any]:
    top, left = corner[0] - 0.5, corner[1] - 0.5
    line = {"color": "@accent" if selected else "@grid", "width": 3 if selected else 1}
    return {"type": "rect", "x0": left, "x1": left + size[1], "y0": top, "y1": top + size[0], "line": line}


def _title(corner: tuple[int, int], text: str, selected: bool) -> dict[str, object]:
    return {
        "x": corner[1] - 0.5,
        "y": corner[0] - 0.5,
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": -2,
        "yshift": -1,
        "align": "left",
        "font": {"size": 10, "color": "@ink" if selected else "@muted"},
    }
