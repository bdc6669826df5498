"""All heads of a model at once: layers down, heads across, one cell a head, coloured by its kind or by a number."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit
from tfcore.charts.theme import HEAD_KINDS, base_layout, build
from tfcore.measures.heads.kinds import NO_ATTENTION, Place

ROW = 22  # pixels of a layer; fewer where there are many
MOST = 440  # pixels of all layers
LEGEND = 20  # pixels of one kind in the legend
ACROSS = 9  # heads that are numbered
DOWN = 32  # layers that are numbered
BAR = 36  # pixels of the colour bar and its numbers


def kind_map(kinds: ndarray, scores: Float[ndarray, "layer head"], selected: Place) -> go.Figure:
    """Every head in the colour of its kind, with a legend that counts them.

    Args:
        kinds: (layer, head), names.
        scores: how strongly the head is that; said in the hover.
        selected: the head with a frame.

    A click carries x, the head, and y, the layer.
    """
    counted = Counter(str(kind) for kind in kinds.ravel())
    names = sorted(counted, key=list(HEAD_KINDS).index)
    n = len(names)
    cells = np.zeros(kinds.shape, dtype=np.uint8)
    for i, name in enumerate(names):
        cells[kinds == name] = i
    stops = [[edge / n, HEAD_KINDS[name]] for i, name in enumerate(names) for edge in (i, i + 1)]
    words = [[_said(kind, score) for kind, score in zip(*row, strict=True)] for row in zip(kinds, scores, strict=True)]
    trace = _cells(cells, words, -0.5, n - 0.5, stops)
    named = [name for name in names if name != NO_ATTENTION]
    legend: list[dict[str, Any]] = [
        kit.dots(
            [None], [None], HEAD_KINDS[name], name=f"{name} ({counted[name]})", symbol="square", size=11, hover=False
        )
        for name in named
    ]
    layout = _layout(kinds.shape, selected, kind_map_height(kinds), len(named) * LEGEND)
    layout["legend"] = {
        "orientation": "v", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom",
        "font": {"size": 12}, "itemclick": False, "itemdoubleclick": False, "traceorder": "normal",
    }  # fmt: skip
    return build([trace, *legend], {**layout, "showlegend": True})


def _said(kind: str, score: float) -> str:
    return kind if kind == NO_ATTENTION else f"{kind} {score:.2f}"


def kind_map_height(kinds: ndarray) -> int:
    """Pixels of kind_map."""
    return _rows(kinds.shape[0]) + 52 + len({*kinds.ravel()} - {NO_ATTENTION}) * LEGEND + 8


def value_map(values: Float[ndarray, "layer head"], most: float, selected: Place) -> go.Figure:
    """Every head by a number, from 0 (the paper) to `most`.

    A click carries x, the head, and y, the layer.
    """
    words = [["no attention" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values.tolist()]
    trace = _cells(values.astype(np.float32), words, 0.0, most, "@seq:attention")
    trace |= {
        "showscale": True,
        "colorbar": {
            "orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "thickness": 10, "len": 1,
            "outlinewidth": 0, "nticks": 4, "tickfont": {"size": 11, "color": "@muted"},
        },
    }  # fmt: skip
    return build([trace], _layout(values.shape, selected, value_map_height(values), BAR))


def value_map_height(values: ndarray) -> int:
    """Pixels of value_map."""
    return _rows(values.shape[0]) + 52 + BAR + 8


def _rows(layers: int) -> int:
    return min(layers * ROW, MOST)


def _cells(z: ndarray, words: Sequence[Sequence[str]], zmin: float, zmax: float, colours: Any) -> dict[str, Any]:
    return kit.cells(
        z,
        colours,
        zmin,
        zmax,
        hover="layer %{y}, head %{x}: %{text}",
        text=words,
        showscale=False,
        showlegend=False,
        xgap=1,
        ygap=1,
    )


def _layout(shape: tuple[int, ...], selected: Place, height: int, below: int) -> dict[str, Any]:
    layers, heads = shape
    x, y = selected[1], selected[0]

    def axis(n: int, most: int, title: str) -> dict[str, Any]:
        step = -(-n // most)
        return {
            "title": {"text": title, "standoff": 4},
            "tickvals": list(range(0, n, step)),
            "showgrid": False,
            "fixedrange": True,
            "automargin": False,
            "tickangle": 0,
            "tickfont": {"size": 10, "color": "@muted"},
        }

    frame = {"x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y + 0.5, "line": {"color": "@ink", "width": 2.5}}
    return base_layout(
        height,
        margin={"l": 44, "r": 6, "t": 44, "b": below + 8},
        xaxis={**axis(heads, ACROSS, "head"), "side": "top", "range": [-0.5, heads - 0.5]},
        yaxis={**axis(layers, DOWN, "layer"), "range": [layers - 0.5, -0.5]},
        shapes=[{"type": "rect", **frame}],
    )
