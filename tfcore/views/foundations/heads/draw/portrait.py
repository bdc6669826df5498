"""One attention head on one line of text: arcs from each token to the tokens it attends to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit
from tfcore.charts.theme import MONO, base_layout, build

HEIGHT = 230
BROAD, LETTER = 940, 0.6  # pixels of a line on a desktop; width of a letter of the font, in parts of its size
SIZES = (11.0, 16.0)  # of the letters, in pixels
FAINT = 0.03  # weights of the chosen token below this have no arc
OTHERS = 0.25  # the same for all other tokens, of which only the strongest arc is drawn
NAMED = 3  # weights written under their tokens
LINE = 0.0  # where the words stand
NUMBERS = -0.17  # where their weights stand


def drawn_tokens(labels: Sequence[str], chosen: int) -> range:
    """The tokens that fit on a line of a desktop in the smallest letters, most of them before the chosen one; the
    chosen one in any case."""
    edges, room = _columns(labels), BROAD / (LETTER * SIZES[0])
    start = stop = chosen
    stop += 1
    while start and edges[stop] - edges[start - 1] <= 3 / 4 * room:
        start -= 1
    while stop < len(labels) and edges[stop + 1] - edges[start] <= room:
        stop += 1
    while start and edges[stop] - edges[start - 1] <= room:
        start -= 1
    return range(start, stop)


def portrait_width(labels: Sequence[str]) -> int:
    """Pixels that the line needs in the smallest letters; where there is less, it scrolls."""
    return int(_columns(labels)[-1] * LETTER * SIZES[0]) + 16


def portrait_place(labels: Sequence[str], chosen: int) -> int:
    """The place of the chosen word, in pixels of `portrait_width`."""
    edges = _columns(labels)
    return int((edges[chosen] + edges[chosen + 1]) / 2 / edges[-1] * portrait_width(labels))


def portrait(
    pattern: Float[ndarray, "query key"], labels: Sequence[str], chosen: int, *, height: int = HEIGHT
) -> go.Figure:
    """The attention of one head as arcs over the words.

    Args:
        pattern: weights between the tokens that are drawn.
        labels: one a token, safe to show.
        chosen: the token whose arcs are strong, with a weight each.
    """
    edges = _columns(labels)
    middle = (edges[:-1] + edges[1:]) / 2 - 0.5
    size = float(np.clip(BROAD / (edges[-1] * LETTER), *SIZES))
    weights = pattern[chosen].astype(float)
    arcs = [(q, int(row.argmax()), float(row.max()), False) for q, row in enumerate(pattern) if q != chosen]
    arcs = [arc for arc in arcs if arc[2] >= OTHERS and arc[0] != arc[1]]
    arcs += [(chosen, int(k), float(weights[k]), True) for k in np.argsort(weights) if weights[k] >= FAINT]
    furthest = max((abs(middle[q] - middle[k]) for q, k, *_ in arcs), default=1.0) or 1.0
    shapes = [
        _arc(float(middle[q]), float(middle[k]), weight, strong, float(furthest))
        for q, k, weight, strong in arcs
        if q != k
    ]
    shapes += [_box(edges, int(k), float(weights[k])) for k in np.flatnonzero(weights >= FAINT)]
    shapes.append({**_box(edges, chosen, 0.0), "line": {"color": "@query", "width": 2}})
    words = kit.words(
        middle.tolist(),
        [LINE] * len(labels),
        list(labels),
        "@ink",
        family=MONO,
        size=round(size, 1),
        customdata=list(range(len(labels))),
        hovertext=[
            f"{labels[chosen]} attends to {label} with {w:.2f}" for label, w in zip(labels, weights, strict=True)
        ],
        hoverinfo="text",
        cliponaxis=False,
    )
    layout = base_layout(
        height,
        xaxis=kit.axis(None, [-0.6, float(edges[-1]) - 0.4], fixed=True, visible=False),
        yaxis=kit.axis(None, [-0.3, 1.05], fixed=True, visible=False),
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        showlegend=False,
        shapes=shapes,
        annotations=[
            _number(float(middle[k]), float(weights[k]), size)
            for k in np.argsort(-weights)[:NAMED]
            if weights[k] >= FAINT
        ],
    )
    return build([words], layout)


def _columns(labels: Sequence[str]) -> Float[ndarray, " edge"]:
    """Where each word begins, in letters, and where the last one ends."""
    return np.cumsum([0.0, *(len(label) + 1.0 for label in labels)])


def _arc(start: float, end: float, weight: float, strong: bool, furthest: float) -> dict[str, Any]:
    top = 0.16 + 1.2 * float(np.sqrt(abs(start - end) / furthest))  # a curve reaches three quarters of its handles
    path = f"M {start:.2f},0.09 C {start:.2f},{top:.3f} {end:.2f},{top:.3f} {end:.2f},0.09"
    opacity = 0.25 + 0.75 * weight if strong else 0.25 * weight
    width = 1 + (6 if strong else 2) * weight
    line = {"color": "@attention", "width": round(width, 2)}
    return {"type": "path", "path": path, "opacity": round(opacity, 3), "line": line, "layer": "below"}


def _box(edges: ndarray, token: int, weight: float) -> dict[str, Any]:
    """The ground of a word, as dark as its weight."""
    sides = {"x0": float(edges[token]) - 0.45, "x1": float(edges[token + 1]) - 0.55, "y0": -0.08, "y1": 0.08}
    fill = f"@attention/{0.4 * float(weight):.2f}"
    return {"type": "rect", **sides, "fillcolor": fill, "line": {"width": 0}, "layer": "below"}


def _number(x: float, weight: float, size: float) -> dict[str, Any]:
    text = f"{weight:.2f}"
    font = {"size": round(max(11.0, size - 3), 1), "color": "@ink"}
    return kit.note(text, float(x), NUMBERS, None, size=None, font=font, yanchor="middle")
