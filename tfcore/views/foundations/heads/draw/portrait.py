"""One attention head on one line of text: arcs from each token to the tokens it attends to."""

import itertools
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit
from tfcore.charts.theme import MONO, base_layout, build

HEIGHT = 230
BROAD, LETTER = 790, 0.6  # pixels of a line in a window of 1280; width of a letter of the font, in parts of its size
SIZES = (11.0, 16.0)  # of the letters, in pixels
GAP, GAP_WIDTH = "⋯", 2.0  # stands for tokens that are left out; its room, in letters
FAINT = 0.03  # weights of the chosen token below this have no arc
OTHERS = 0.25  # the same for all other tokens, of which only the strongest arc is drawn
NAMED = 3  # weights written under their tokens
FAR = 0.1  # a weight from which on its token is drawn, however far away it is
LINE = 0.0  # where the words stand
NUMBERS = -0.17  # where their weights stand


class LineOfWords(NamedTuple):
    """The words of a line, in letters from its left end.

    Args:
        tokens: which of the text.
        labels: of them, safe to show.
        left, right: where each begins, and where the next may begin.
        gaps: the middles of the signs for what is left out.
        length: of the line.
    """

    tokens: tuple[int, ...]
    labels: tuple[str, ...]
    left: Float[ndarray, " word"]
    right: Float[ndarray, " word"]
    gaps: tuple[float, ...]
    length: float

    @property
    def middle(self) -> Float[ndarray, " word"]:
        """The middle of each word."""
        return (self.left + self.right - 1) / 2

    @property
    def pixels(self) -> int:
        """The width in the smallest letters; where there is less, the line scrolls."""
        return int(self.length * LETTER * SIZES[0]) + 16

    def place(self, token: int) -> int:
        """The middle of a token of the text, in pixels of that width."""
        return int((self.middle[self.tokens.index(token)] + 0.5) / self.length * self.pixels)


def line_of(labels: Sequence[str], weights: Float[ndarray, " key"], chosen: int) -> LineOfWords:
    """The tokens that fit on a line of a small desktop in the smallest letters: the chosen one, those with the most of
    its weight and the words beside these, and then those around it, most of them before it. The chosen one is there in
    any case.

    Args:
        weights: of the chosen token on every other.
    """
    room = BROAD / (LETTER * SIZES[0])
    keys = [int(key) for key in np.argsort(-weights, kind="stable")[:NAMED] if weights[key] >= FAR]
    linked = [key + step for step in (0, -1, 1) for key in keys if 0 <= key + step < len(labels)]
    near = sorted(range(len(labels)), key=lambda i: (chosen - i) / 3 if i < chosen else i - chosen)
    line = _line(labels, {chosen})
    for token in linked:
        if (longer := _line(labels, {*line.tokens, token})).length <= room:
            line = longer
    for token in near:
        if (longer := _line(labels, {*line.tokens, token})).length > room:
            break
        line = longer
    return line


def _line(labels: Sequence[str], drawn: Set[int]) -> LineOfWords:
    tokens = tuple(sorted(drawn))
    left, gaps, at = [], [], 0.0
    for before, token in itertools.pairwise((-1, *tokens, len(labels))):
        if token > before + 1:
            gaps.append(at + (GAP_WIDTH - 1) / 2)
            at += GAP_WIDTH
        left.append(at)
        at += len(labels[token]) + 1.0 if token < len(labels) else 0.0
    right = [start + len(labels[token]) + 1.0 for start, token in zip(left, tokens, strict=False)]
    return LineOfWords(tokens, tuple(labels[i] for i in tokens), np.array(left[:-1]), np.array(right), tuple(gaps), at)


def portrait(
    pattern: Float[ndarray, "query key"], line: LineOfWords, chosen: int, *, height: int = HEIGHT
) -> go.Figure:
    """The attention of one head as arcs over the words of a line.

    Args:
        pattern: weights of the whole text.
        chosen: the token whose arcs are strong, with a weight each.
    """
    pattern, chosen = pattern[np.ix_(line.tokens, line.tokens)], line.tokens.index(chosen)
    labels, middle = line.labels, line.middle
    size = float(np.clip(BROAD / (line.length * LETTER), *SIZES))
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
    shapes += [_box(line, int(k), float(weights[k])) for k in np.flatnonzero(weights >= FAINT)]
    shapes.append({**_box(line, chosen, 0.0), "line": {"color": "@query", "width": 2}})
    words = kit.words(
        middle.tolist(),
        [LINE] * len(labels),
        list(labels),
        "@ink",
        family=MONO,
        size=round(size, 1),
        customdata=list(line.tokens),
        hovertext=[
            f"{labels[chosen]} attends to {label} with {w:.2f}" for label, w in zip(labels, weights, strict=True)
        ],
        hoverinfo="text",
        cliponaxis=False,
    )
    layout = base_layout(
        height,
        xaxis=kit.axis(None, [-0.6, line.length - 0.4], fixed=True, visible=False),
        yaxis=kit.axis(None, [-0.3, 1.05], fixed=True, visible=False),
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        showlegend=False,
        shapes=shapes,
        annotations=[
            _number(float(middle[k]), float(weights[k]), size)
            for k in np.argsort(-weights)[:NAMED]
            if weights[k] >= FAINT
        ]
        + [kit.note(GAP, gap, LINE, "@muted", yanchor="middle") for gap in line.gaps],
    )
    return build([words], layout)


def _arc(start: float, end: float, weight: float, strong: bool, furthest: float) -> dict[str, Any]:
    top = 0.16 + 1.2 * float(np.sqrt(abs(start - end) / furthest))  # a curve reaches three quarters of its handles
    path = f"M {start:.2f},0.09 C {start:.2f},{top:.3f} {end:.2f},{top:.3f} {end:.2f},0.09"
    opacity = 0.25 + 0.75 * weight if strong else 0.25 * weight
    width = 1 + (6 if strong else 2) * weight
    line = {"color": "@attention", "width": round(width, 2)}
    return {"type": "path", "path": path, "opacity": round(opacity, 3), "line": line, "layer": "below"}


def _box(line: LineOfWords, word: int, weight: float) -> dict[str, Any]:
    """The ground of a word, as dark as its weight."""
    sides = {"x0": float(line.left[word]) - 0.45, "x1": float(line.right[word]) - 0.55, "y0": -0.08, "y1": 0.08}
    fill = f"@attention/{0.4 * float(weight):.2f}"
    return {"type": "rect", **sides, "fillcolor": fill, "line": {"width": 0}, "layer": "below"}


def _number(x: float, weight: float, size: float) -> dict[str, Any]:
    text = f"{weight:.2f}"
    font = {"size": round(max(11.0, size - 3), 1), "color": "@ink"}
    return kit.note(text, float(x), NUMBERS, None, size=None, font=font, yanchor="middle")
