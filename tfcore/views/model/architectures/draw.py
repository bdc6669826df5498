"""Drawings of the three kinds of Transformer: what stands on what, and what looks at what."""

from typing import Any

import plotly.graph_objects as go
from jaxtyping import Bool
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import mask_figure
from tfcore.config import Architecture

WIDE, HIGH, STEP = 0.8, 0.62, 1.0  # of a box, and from one box to the next
Box = tuple[str, str]  # what is written in it, and its role
LOOKS = {
    "both": "attention,<br>bidirectional",
    "back": "attention,<br>causal",
    "across": "cross-attention,<br>to the source",
}
STACKS: dict[Architecture, list[list[Box]]] = {
    "encoder": [
        [
            ("text with masked tokens", ""),
            ("embedding<br>+ positions", "embedding"),
            (LOOKS["both"], "attention"),
            ("feed-forward", "feedforward"),
            ("masked tokens", ""),
        ]
    ],
    "decoder": [
        [
            ("text so far", ""),
            ("embedding<br>+ positions", "embedding"),
            (LOOKS["back"], "attention"),
            ("feed-forward", "feedforward"),
            ("next token", ""),
        ]
    ],
    "encoder-decoder": [
        [
            ("source text", ""),
            ("embedding<br>+ positions", "embedding"),
            (LOOKS["both"], "attention"),
            ("feed-forward", "feedforward"),
            ("one state a token", "residual"),
        ],
        [
            ("written so far", ""),
            ("embedding<br>+ positions", "embedding"),
            (LOOKS["back"], "attention"),
            (LOOKS["across"], "key"),
            ("feed-forward", "feedforward"),
            ("what to write next?", ""),
        ],
    ],
}

FLOORS = 6  # of the highest, so that a floor is equally high in all three


def stack_figure(architecture: Architecture, layers: int, height: int) -> go.Figure:
    """One kind of Transformer, from the text at the bottom to the question it is trained to answer on top.

    Args:
        height: of the highest kind, in pixels; the others are lower by the floors that they lack.
    """
    stacks = STACKS[architecture]
    highest = max(map(len, stacks))
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for column, boxes in enumerate(stacks):
        for floor, (words, role) in enumerate(boxes):
            _box(shapes, notes, column, floor, words, role)
        floors = range(1, len(boxes))
        x = float(column)
        notes += [_arrow(x, floor - STEP + 0.5 * HIGH, x, floor - 0.5 * HIGH) for floor in floors]
        top = len(boxes) - 2
        shapes.append(
            {
                "type": "rect",
                "x0": column - 0.46,
                "x1": column + 0.46,
                "y0": 1.57,
                "y1": top + 0.43,
                "line": {"color": "@muted", "width": 1, "dash": "dot"},
                "layer": "below",
            }
        )
        notes.append(kit.note(f"× {layers}", column + 0.5 * WIDE, 2.5, xanchor="right"))
    if len(stacks) > 1:  # from the last state of the reader to the cross-attention of the writer
        notes.append(_arrow(0.5 * WIDE, 4.0, 1 - 0.5 * WIDE, 3.0))
    hidden = {"visible": False, "fixedrange": True}
    layout = theme.base_layout(
        round(height * (highest - 0.1) / (FLOORS - 0.1)),
        shapes=shapes,
        annotations=notes,
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        hovermode=False,
        xaxis={**hidden, "range": [-0.5, len(stacks) - 0.5]},
        yaxis={**hidden, "range": [-0.45, highest - 0.55]},
    )
    return theme.build([{"type": "scatter", "x": [], "y": [], "showlegend": False}], layout)


def _box(shapes: list[Any], notes: list[Any], column: int, floor: int, words: str, role: str) -> None:
    if role:
        shapes.append(
            kit.box(
                column - 0.5 * WIDE,
                column + 0.5 * WIDE,
                floor - 0.5 * HIGH,
                floor + 0.5 * HIGH,
                f"@{role}/0.16",
                edge=f"@{role}",
                width=1.5,
            )
        )
    style = {"size": 11, "color": "@ink"} if role else {"size": 13, "color": "@ink", "weight": 600}
    notes.append(kit.note(words, column, floor, None, size=None, font=style))


def _arrow(x: float, y: float, to_x: float, to_y: float) -> dict[str, Any]:
    return {
        "x": to_x,
        "y": to_y,
        "ax": x,
        "ay": y,
        "axref": "x",
        "ayref": "y",
        "text": "",
        "showarrow": True,
        "arrowhead": 2,
        "arrowsize": 0.9,
        "arrowwidth": 1.5,
        "arrowcolor": "@muted",
    }


def seen_figure(allowed: Bool[ndarray, "query key"], labels: list[str], read: int, height: int) -> go.Figure:
    """A map of who sees whom, with a line between what is read and what is written."""
    figure = mask_figure(allowed, labels, height)
    cut, n = read - 0.5, len(labels) - 0.5
    line = {"type": "line", "line": {"color": "@ink", "width": 1.5, "dash": "dot"}}
    figure._layout["shapes"] = [
        {**line, "x0": cut, "x1": cut, "y0": -0.5, "y1": n},
        {**line, "x0": -0.5, "x1": n, "y0": cut, "y1": cut},
    ]
    return figure
