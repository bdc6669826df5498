"""Pictures of a text that repeats itself: a number for every head, and the loss of every token."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import MOST_LABELS, SLANT, label_room, ticks
from tfcore.measures.heads.induction_heads import Copying, Place

MOST_NUMBERS = 64  # cells with a number written in
WHOLE, CUT = "@cat0", "@cat1"


def head_grid(
    values: Float[ndarray, "layer head"], selected: Place, off: Collection[Place], words: str, top: float, height: int
) -> go.Figure:
    """A number for every head; the selected one is framed, those ablated are crossed out.

    Args:
        words: what the number is, for the hover sentence.
        top: where the scale ends; it begins at 0.
        height: in pixels.

    A click carries x = head, y = layer.
    """
    layers, heads = values.shape
    few = layers * heads <= MOST_NUMBERS
    grid: dict[str, Any] = kit.cells(
        values.astype(np.float32),
        "@seq:attention",
        0,
        top,
        showscale=False,
        xgap=2,
        ygap=2,
        hovertemplate="layer %{y}, head %{x}: " + words + " %{z:.2f}<extra></extra>",
    )
    if few:
        grid |= {"texttemplate": "%{z:.2f}", "textfont": {"size": 12}}
    crosses = kit.dots(
        [head + (0.36 if few else 0) for _, head in off],
        [layer - (0.3 if few else 0) for layer, _ in off],
        CUT,
        symbol="x",
        size=10,
        marker={"line": {"width": 1, "color": "@paper"}},
        hover=False,
        showlegend=False,
    )
    layer, head = selected
    frame = kit.box(head - 0.5, head + 0.5, layer - 0.5, layer + 0.5, edge="@accent", width=2.5)
    axis = {"showgrid": False, "fixedrange": True}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": "head", "dtick": 1 if heads <= 16 else 4, "range": [-0.55, heads - 0.45]},
        yaxis={**axis, "title": "layer", "dtick": 1 if layers <= 16 else 4, "range": [layers - 0.45, -0.55]},
        margin={"t": 8, "r": 8},
        shapes=[frame],
    )
    return theme.build([grid, crosses], layout)


def losses_figure(
    whole: Copying, cut: Copying | None, labels: Sequence[str], uniform_loss: float, height: int
) -> go.Figure:
    """The loss of every token after the first: of the whole model, and without some heads.

    Args:
        labels: all tokens, the first included.
        uniform_loss: of a uniform guess, nats.
        height: in pixels.
    """
    places = np.arange(1, len(labels))
    runs = [(whole, "whole model", WHOLE, "solid")]
    if cut is not None:
        runs.append((cut, "heads ablated", CUT, "dash"))
    data = [
        kit.line(
            places,
            run.losses.astype(np.float32),
            colour,
            name=name,
            width=2,
            dash=dash,
            marks={"size": 4},
            text=list(labels[1:]),
            hovertemplate="'%{text}' (%{x}): %{y:.2f} nats<extra>" + name + "</extra>",
        )
        for run, name, colour, dash in runs
    ]
    top = 1.06 * max([uniform_loss, *(float(run.losses.max()) for run, *_ in runs)])
    layout = theme.base_layout(
        height,
        xaxis={
            **ticks(labels, MOST_LABELS),
            "range": [0, len(labels) - 0.5],
            "tickangle": -SLANT,
            "showgrid": False,
            "automargin": False,
            "title": {"text": "token", "standoff": 4},
        },
        yaxis=kit.axis("loss, nats", [0, top]),
        margin={"b": label_room(labels, SLANT) + 26, "t": 40},
        shapes=[*_bands(whole.repeated), _level(uniform_loss)],
        annotations=[
            kit.note(
                f"uniform: {uniform_loss:.2f}", 0, uniform_loss, size=11, paper="x", xanchor="left", yanchor="bottom"
            )
        ],
    )
    return theme.build(data, layout)


def _bands(repeated: ndarray) -> list[dict[str, Any]]:
    """Shades behind the repeated tokens; entry i of `repeated` is about token i + 1."""
    edge = np.diff(repeated.astype(np.int8), prepend=0, append=0)
    spans = zip(np.flatnonzero(edge == 1), np.flatnonzero(edge == -1), strict=True)
    return [
        kit.box(int(start) + 0.5, int(end) + 0.5, 0, 1, "@attention/0.09", width=0, below=True, paper="y")
        for start, end in spans
    ]


def _level(loss: float) -> dict[str, Any]:
    line = {"color": "@muted", "width": 1, "dash": "dot"}
    return kit.across(loss, None, line=line)


def scale_end(values: Float[ndarray, "layer head"], weight: bool) -> float:
    """The end of the scale of head_grid: 1 for weights, else the next half above the largest value."""
    return 1.0 if weight else max(0.5, math.ceil(2 * float(values.max())) / 2)
