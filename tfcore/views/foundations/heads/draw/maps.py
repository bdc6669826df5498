"""Pictures of attention: all heads as a mosaic, one head as lines between tokens, one token in every head."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit
from tfcore.charts.theme import DECADES, MONO, base_layout, build
from tfcore.charts.tiles import tiles
from tfcore.measures.heads.kinds import Place

Form = Literal["map", "lines"]  # of one head
MAP_CELLS = 128  # along a side of a map; a longer one is pooled
SIDE_CELLS = 96  # the same of two maps side by side
MOST_COLUMNS = 6  # of tiles: the names of kinds above them stay apart
TILES_WIDTH = 330  # pixels that a mosaic has at least
FEW = 12  # tiles that stand in a square, whatever layers they are of
TITLE = 28  # pixels of the two lines above a tile
MOST_KEYS = 56  # labels along one token's row
LAYERS_APART = {"color": "@muted", "width": 1}


def shades(weights: Float[ndarray, "*cells"], log: bool) -> Float[ndarray, "*cells"]:
    """How dark a weight is drawn, 0 to 1: the weight itself, or its logarithm over three decades, 0.001 being 0."""
    if not log:
        return weights
    return np.clip(1 + np.log10(np.maximum(weights, 1e-12)) / DECADES, 0, 1)


def mosaic(
    maps: Float[ndarray, "tile row column"],
    labels: Sequence[str],
    order: Sequence[Place],
    selected: Place,
    *,
    columns: int,
    height: int,
    log: bool = False,
) -> go.Figure:
    """Heads as small attention maps (rows are query tokens, columns key tokens), each with its label above.

    Args:
        maps: weights 0..1, in the order of the heads.
        labels: what to write above each head: its kind, and its score as the last word.
        order: the heads, in reading order.
        selected: the head with a frame.
        columns: tiles in a row.
        height: in pixels.
        log: colours by the logarithm of the weight.

    A click on a tile carries customdata [layer, head].
    """

    def title(place: Place, label: str) -> str:
        kind, _, score = label.rpartition(" ")
        return f"<b>{place[0]}.{place[1]}</b> {score}<br>{kind}"

    pairs = list(zip(order, labels, strict=True))
    return tiles(
        shades(maps, log),
        [title(*pair) for pair in pairs],
        columns,
        hovers=[f"layer {p[0]}, head {p[1]}: {label}<br>click to enlarge" for p, label in pairs],
        customdata=[list(place) for place in order],
        selected=order.index(selected) if selected in order else None,
        height=height,
        above=TITLE / (TILES_WIDTH / columns / 1.08 - 2),
    )


def mosaic_columns(tiles: int, n_heads: int) -> int:
    """Tiles in a row: the heads of a layer, at most six; fewer where few tiles are shown, which then are large."""
    return min(n_heads, MOST_COLUMNS) if tiles > FEW else max(3, math.ceil(math.sqrt(tiles)))


def mosaic_height(tiles: int, columns: int) -> int:
    """Pixels for these tiles as squares below their titles, where they have TILES_WIDTH."""
    side = TILES_WIDTH / columns
    return round(-(-tiles // columns) * (side + TITLE + 4) + 8)


BINS = 6  # line strengths drawn: one trace each, because plotly has one opacity a trace
FAINT = 0.04  # weights below this draw no line


def lines(
    pattern: Float[ndarray, "query key"],
    queries: Sequence[str],
    keys: Sequence[str],
    chosen: int | None,
    *,
    height: int,
) -> go.Figure:
    """An attention map as lines between two columns of tokens: left the query tokens, right the key tokens.

    Args:
        pattern: attention weights of one head.
        queries, keys: one label a token, safe to show.
        chosen: only this query's lines are drawn strong; None draws all alike.
        height: in pixels.
    """
    n = max(len(queries), len(keys))
    traces = []
    for strong in (False, True):
        rows = [q for q in range(len(queries)) if (chosen is None or q == chosen) == strong]
        weights = pattern[rows]
        for i in range(BINS):
            low, high = (max(FAINT, i / BINS), (i + 1) / BINS + (i == BINS - 1))
            where, seen = np.nonzero((weights >= low) & (weights < high))
            if len(where):
                opacity = min(high, 1.0) * (1.0 if strong else 0.18)
                traces.append(_segments([rows[q] for q in where], seen, opacity, width=1 + 2.5 * min(high, 1.0)))
    size = max(7, min(13, int(0.72 * (height - 60) / max(n, 1))))
    for x, side, labels in ((0, "middle left", queries), (1, "middle right", keys)):
        traces.append(
            kit.words(
                [x] * len(labels),
                list(range(len(labels))),
                list(labels),
                "@ink",
                family=MONO,
                size=size,
                hover=False,
                textposition=side,
                cliponaxis=False,
            )
        )
    layout = base_layout(
        height,
        xaxis=kit.axis(None, [-0.35, 1.35], fixed=True, visible=False),
        yaxis=kit.axis(None, [n - 0.4, -0.6], fixed=True, visible=False),
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        showlegend=False,
        annotations=[_column(0.0, "query token", "right"), _column(1.0, "key token", "left")],
    )
    return build(traces, layout)


def _segments(queries: Sequence[int], keys: ndarray, opacity: float, width: float) -> dict[str, object]:
    x = [0.02, 0.98, None] * len(queries)
    y = [v for q, k in zip(queries, keys.tolist(), strict=True) for v in (q, k, None)]
    return kit.line(x, y, "@attention", width=round(width, 2), hover=False, opacity=round(opacity, 3))


def _column(x: float, text: str, anchor: str) -> dict[str, object]:
    return kit.note(text, x, 1, paper="y", yanchor="bottom", xanchor=anchor)


def one_token(
    weights: Float[ndarray, "head key"],
    places: Sequence[Place],
    labels: Sequence[str],
    query: int | None,
    selected: Place,
    *,
    height: int,
    log: bool = False,
) -> go.Figure:
    """The attention of one query token in some heads: a row a head, a column a token.

    Args:
        weights: the query's row of each of their patterns.
        places: the heads.
        labels: one a key, safe to show.
        query: its position among the keys, which is framed; None where it is not one of them.
        selected: the head whose row is framed.
        log: colours by the logarithm of the weight.
    """
    n, rows = weights.shape[1], len(places)
    trace = kit.cells(
        weights.astype(np.float32),
        "@logweights" if log else "@weights",
        0,
        1,
        hover="head %{y}: %{x} gets %{z:.2f}",
        showscale=False,
        ygap=1,
        hoverongaps=False,
    )
    step = -(-n // MOST_KEYS)
    row = places.index(selected) if selected in places else None
    edges = [i - 0.5 for i in range(1, rows) if places[i][0] != places[i - 1][0]]
    frames = [(query - 0.5, query + 0.5, -0.5, rows - 0.5, "@query")] if query is not None else []
    frames += [(-0.5, n - 0.5, row - 0.5, row + 0.5, "@accent")] if row is not None else []
    layout = base_layout(
        height,
        margin={"l": 64, "t": 8, "b": 96},
        xaxis=kit.axis(
            "key token",
            fixed=True,
            grid=False,
            tickvals=list(range(0, n, step)),
            ticktext=list(labels)[::step],
            tickangle=-60,
            tickfont={"family": MONO, "size": 11, "color": "@ink"},
            automargin=False,
        ),
        yaxis=kit.axis(
            "head",
            fixed=True,
            grid=False,
            tickvals=list(range(rows)),
            ticktext=[f"{layer}.{head}" for layer, head in places],
            autorange="reversed",
            tickfont={"size": 10, "color": "@muted"},
            automargin=False,
        ),
        shapes=[
            *(kit.stroke(-0.5, n - 0.5, y, y, line=LAYERS_APART) for y in edges),
            *(kit.box(x0, x1, y0, y1, edge=colour, width=1.5) for x0, x1, y0, y1, colour in frames),
        ],
    )
    return build([trace], layout)


def one_token_height(rows: int) -> int:
    """Pixels for these rows, so that their labels stay apart."""
    return 104 + 14 * max(rows, 6)
