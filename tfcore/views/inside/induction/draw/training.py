"""The phase change in a training: losses and head scores by step, attention of every head, loss by position."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.tiles import tiles
from tfcore.measures.heads.induction_moments import Moment

FIRST, SECOND = "@muted", "@ink"
LEFT = 0.8  # step 0 on a logarithmic axis, as a share of the first step after it


def course_figure(
    moments: Sequence[Moment],
    at: int,
    steps: int,
    loss_fall: tuple[int, int] | None,
    uniform_loss: float,
    height: int,
    *,
    log: bool,
) -> go.Figure:
    """Losses above, head scores below, over the steps of training; the moment looked at is marked.

    Args:
        at: index of that moment.
        steps: of the whole training, so that the axis stays while curves grow.
        loss_fall: the steps between which the loss falls, see `loss_fall` of measure.
        uniform_loss: of a uniform guess, nats.
        height: in pixels.
        log: steps on a logarithmic axis, with step 0 at its left end.
    """
    left = LEFT * next((m.step for m in moments if m.step), 1)
    x = [max(m.step, left) if log else m.step for m in moments]
    curves = (
        ("loss, first copy", [m.first_loss for m in moments], FIRST, "dot", ""),
        ("loss, second copy", [m.second_loss for m in moments], SECOND, "solid", ""),
        ("best induction head", [float(m.induction.max()) for m in moments], "@attention", "solid", "2"),
        ("best previous-token head", [float(m.previous.max()) for m in moments], "@query", "dash", "2"),
        ("best K-composition", [m.key_composition for m in moments], "@key", "dot", "2"),
    )
    data = [
        kit.line(
            x,
            values,
            colour,
            name=name,
            width=2.2,
            dash=dash,
            marks={"size": 4},
            yaxis=f"y{axis}",
            customdata=[m.step for m in moments],
            hovertemplate="step %{customdata}: %{y:.2f}<extra>" + name + "</extra>",
        )
        for name, values, colour, dash, axis in curves
    ]
    top = 1.08 * max(uniform_loss, *(max(m.first_loss, m.second_loss) for m in moments))
    layout = theme.base_layout(
        height,
        xaxis={**_steps(left, steps, log), "title": "training step", "fixedrange": True, "anchor": "y2"},
        yaxis=kit.axis("loss, nats", [0, top], fixed=True, domain=[0.5, 1]),
        yaxis2=kit.axis("score", [0, 1.04], fixed=True, domain=[0, 0.42]),
        shapes=_marks(x[at], loss_fall),
        margin={"t": 64},
        legend={"y": 1.03},
    )
    return theme.build(data, layout)


def _steps(left: float, steps: int, log: bool) -> dict[str, Any]:
    if not log:
        return {"range": [0, 1.02 * steps]}
    powers = [s for s in (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000) if left < s <= steps]
    return {
        "type": "log",
        "range": [math.log10(0.96 * left), math.log10(1.04 * steps)],
        "tickvals": [left, *powers],
        "ticktext": ["0", *(f"{s:,}" for s in powers)],
    }


def _marks(x: float, loss_fall: tuple[int, int] | None) -> list[dict[str, Any]]:
    """A line at the moment looked at, and a band from the beginning to the end of the fall."""
    marks: list[dict[str, Any]] = [kit.upright(x, "@accent", width=2)]
    if loss_fall is not None:
        marks.append(kit.box(loss_fall[0], loss_fall[1], 0, 1, "@attention/0.10", width=0, below=True, paper="y"))
    return marks


def maps_figure(moment: Moment, height: int) -> go.Figure:
    """Every head's map at one moment, with its two scores."""
    layers, heads = moment.induction.shape
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    titles = [f"<b>{p[0]}.{p[1]}</b><br>prev {moment.previous[p]:.2f} · ind {moment.induction[p]:.2f}" for p in places]
    return tiles(
        np.stack([moment.patterns[p] for p in places]),
        titles,
        heads,
        hovers=[
            f"layer {p[0]}, head {p[1]}: weight on the previous token {moment.previous[p]:.2f}, on the token "
            f"after the earlier occurrence {moment.induction[p]:.2f}"
            for p in places
        ],
        height=height,
    )


def loss_by_position_figure(
    now: Moment, start: Moment, early: int, late: int, uniform_loss: float, height: int
) -> go.Figure:
    """The loss of each token of a row, at the start and now; the in-context learning score is a difference of two.

    Args:
        early, late: tokens whose losses are compared, counted from 1.
        uniform_loss: of a uniform guess, nats.
        height: in pixels.
    """
    x = np.arange(2, len(now.by_place) + 2)
    runs = ((start, f"step {start.step}", "@muted", "dot"), (now, f"step {now.step:,}", SECOND, "solid"))
    data: list[dict[str, Any]] = [
        kit.line(
            x,
            m.by_place.astype(np.float32),
            colour,
            name=name,
            width=2,
            dash=dash,
            hovertemplate="token %{x}: %{y:.2f} nats<extra>" + name + "</extra>",
        )
        for m, name, colour, dash in runs
    ]
    data.append(
        kit.dots(
            [early, late],
            [float(now.by_place[i - 2]) for i in (early, late)],
            "@accent",
            size=11,
            hover=False,
            showlegend=False,
        )
    )
    top = 1.1 * max(uniform_loss, float(now.by_place.max()), float(start.by_place.max()))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("position in the sequence", [0, late + 3]),
        yaxis=kit.axis("loss, nats", [0, top]),
        annotations=[_point(now, early, "left"), _point(now, late, "right")],
    )
    return theme.build(data, layout)


def _point(now: Moment, token: int, anchor: str) -> dict[str, Any]:
    """The number beside a token whose loss is compared, above or below the curve, where there is room."""
    loss = float(now.by_place[token - 2])
    up = 20 if loss < 0.5 * float(now.by_place.max()) else -20
    return kit.note(f"token {token}: {loss:.2f}", token, loss, "@ink", xanchor=anchor, yshift=up, bgcolor="@paper/0.8")
