"""Pictures of attention: all heads as a mosaic, one head as lines between tokens, one token in every head."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures.theme import MONO, base_layout, build

Place = tuple[int, int]  # layer, head


def mosaic(
    thumbnails: Float[ndarray, "layer head cell cell"],
    labels: dict[Place, str],
    order: Sequence[Place],
    selected: Place,
    *,
    height: int,
) -> go.Figure:
    """Every head as a small attention map (rows look, columns are looked at), each with its label above.

    Args:
        thumbnails: weights 0..1.
        labels: what to write above each head: its kind, and its score as the last word.
        order: the heads in reading order, as many to a row as there are heads in a layer.
        selected: the head with a frame.

    A click on a tile carries customdata [layer, head].
    """
    columns, cells = thumbnails.shape[1], thumbnails.shape[-1]
    pitch_x, pitch_y = cells * 1.08, cells * 1.48  # the space above a tile holds its label
    rows = -(-len(order) // columns)
    canvas = np.zeros((int(np.ceil(rows * pitch_y)), int(np.ceil(columns * pitch_x))), dtype=np.uint8)
    corners = {place: (i // columns * pitch_y + cells * 0.4, i % columns * pitch_x) for i, place in enumerate(order)}
    for (layer, head), (top, left) in corners.items():
        tile = np.round(255 * thumbnails[layer, head]).astype(np.uint8)
        canvas[int(top) : int(top) + cells, int(left) : int(left) + cells] = tile
    image = {
        "type": "heatmap", "z": canvas, "zmin": 0, "zmax": 255, "colorscale": "@weights",
        "showscale": False, "hoverinfo": "skip",
    }  # fmt: skip
    middle = {place: (int(left) + cells / 2, int(top) + cells / 2) for place, (top, left) in corners.items()}
    targets = {
        "type": "scatter", "mode": "markers", "x": [middle[p][0] for p in order], "y": [middle[p][1] for p in order],
        "marker": {"size": 64, "opacity": 0, "symbol": "square"}, "customdata": [list(p) for p in order],
        "text": [f"layer {p[0]}, head {p[1]}: {labels[p]}" for p in order],
        "hovertemplate": "%{text}<br>click to look closer<extra></extra>",
    }  # fmt: skip
    hidden = {"visible": False, "fixedrange": True}
    layout = base_layout(
        height,
        xaxis={**hidden, "range": [-1.5, columns * pitch_x]},
        yaxis={**hidden, "range": [rows * pitch_y, -0.5]},
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        showlegend=False,
        shapes=[_frame(corners[p], cells, p == selected) for p in sorted(order, key=lambda p: p == selected)],
        annotations=[_tile_label(corners[p], p, labels[p], p == selected) for p in order],
    )
    return build([image, targets], layout)


def _frame(corner: tuple[float, float], cells: int, selected: bool) -> dict[str, object]:
    top, left = int(corner[0]) - 0.5, int(corner[1]) - 0.5
    line = {"color": "@accent" if selected else "@grid", "width": 3 if selected else 1}
    return {"type": "rect", "x0": left, "x1": left + cells, "y0": top, "y1": top + cells, "line": line}


def _tile_label(corner: tuple[float, float], place: Place, label: str, selected: bool) -> dict[str, object]:
    kind, _, score = label.rpartition(" ")
    text = f"<b>{place[0]}.{place[1]}</b> {score}<br>{kind}"
    return {
        "x": int(corner[1]) - 0.5, "y": int(corner[0]) - 0.5, "text": text, "showarrow": False, "xanchor": "left",
        "yanchor": "bottom", "xshift": -2, "yshift": -1, "align": "left",
        "font": {"size": 10, "color": "@ink" if selected else "@muted"},
    }  # fmt: skip


BINS = 6  # line strengths drawn: one trace each, because plotly has one opacity a trace
FAINT = 0.04  # weights below this draw no line


def lines(pattern: Float[ndarray, "query key"], labels: Sequence[str], chosen: int | None, *, height: int) -> go.Figure:
    """The same map as lines between two columns of tokens: left the token that looks, right the one looked at.

    Args:
        pattern: attention weights of one head.
        labels: one a token, safe to show.
        chosen: only this query's lines are drawn strong; None draws all alike.
    """
    n = len(labels)
    traces = []
    for strong in (False, True):
        rows = [q for q in range(n) if (chosen is None or q == chosen) == strong]
        weights = pattern[rows]
        for i in range(BINS):
            low, high = (max(FAINT, i / BINS), (i + 1) / BINS + (i == BINS - 1))
            where, keys = np.nonzero((weights >= low) & (weights < high))
            if len(where):
                opacity = min(high, 1.0) * (1.0 if strong else 0.18)
                traces.append(_segments([rows[q] for q in where], keys, opacity, width=1 + 2.5 * min(high, 1.0)))
    size = max(7, min(13, int(0.72 * (height - 60) / max(n, 1))))
    for x, side in ((0, "middle left"), (1, "middle right")):
        traces.append(
            {
                "type": "scatter", "mode": "text", "x": [x] * n, "y": list(range(n)), "text": list(labels),
                "textposition": side, "textfont": {"family": MONO, "size": size, "color": "@ink"}, "hoverinfo": "skip",
                "cliponaxis": False,
            }
        )  # fmt: skip
    layout = base_layout(
        height,
        xaxis={"visible": False, "range": [-0.35, 1.35], "fixedrange": True},
        yaxis={"visible": False, "range": [n - 0.4, -0.6], "fixedrange": True},
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        showlegend=False,
        annotations=[_column(0.0, "query: the token that looks", "right"), _column(1.0, "key: looked at", "left")],
    )
    return build(traces, layout)


def _segments(queries: Sequence[int], keys: ndarray, opacity: float, width: float) -> dict[str, object]:
    x = [0.02, 0.98, None] * len(queries)
    y = [v for q, k in zip(queries, keys.tolist(), strict=True) for v in (q, k, None)]
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "opacity": round(opacity, 3), "hoverinfo": "skip",
        "line": {"color": "@attention", "width": round(width, 2)},
    }  # fmt: skip


def _column(x: float, text: str, anchor: str) -> dict[str, object]:
    return {
        "x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "text": text, "showarrow": False, "xanchor": anchor,
        "font": {"size": 12, "color": "@muted"},
    }  # fmt: skip


def one_token(
    weights: Float[ndarray, "layer head key"], labels: Sequence[str], query: int, selected: Place, *, height: int
) -> go.Figure:
    """Where one token looks, in every head: a row a head, a column a token.

    Args:
        weights: the query's row of every pattern.
        labels: one a key, safe to show.
        query: its position, which is framed.
        selected: the head whose row is framed.
    """
    layers, heads, n = weights.shape
    rows = weights.reshape(layers * heads, n).astype(np.float32)
    names = [f"layer {layer}, head {head}" for layer in range(layers) for head in range(heads)]
    trace = {
        "type": "heatmap", "z": rows, "zmin": 0, "zmax": 1, "colorscale": "@weights", "showscale": False, "ygap": 1,
        "hovertemplate": "%{y}: '%{x}' gets %{z:.2f}<extra></extra>", "hoverongaps": False,
    }  # fmt: skip
    step, row = max(1, n // 64), selected[0] * heads + selected[1]
    layout = base_layout(
        height,
        xaxis={
            "title": "key: the token looked at", "tickvals": list(range(0, n, step)), "ticktext": list(labels)[::step],
            "tickangle": -60, "tickfont": {"family": MONO, "size": 11, "color": "@ink"}, "showgrid": False,
            "fixedrange": True,
        },
        yaxis={
            "tickvals": list(range(layers * heads)), "ticktext": names, "autorange": "reversed", "showgrid": False,
            "tickfont": {"size": 9, "color": "@muted"}, "fixedrange": True,
        },
        shapes=[
            *({"type": "line", "x0": -0.5, "x1": n - 0.5, "y0": y, "y1": y, "line": {"color": "@muted", "width": 1}}
              for y in (layer * heads - 0.5 for layer in range(1, layers))),
            {"type": "rect", "x0": query - 0.5, "x1": query + 0.5, "y0": -0.5, "y1": layers * heads - 0.5,
             "line": {"color": "@query", "width": 1.5}},
            {"type": "rect", "x0": -0.5, "x1": n - 0.5, "y0": row - 0.5, "y1": row + 0.5,
             "line": {"color": "@accent", "width": 1.5}},
        ],
    )  # fmt: skip
    return build([trace], layout)
