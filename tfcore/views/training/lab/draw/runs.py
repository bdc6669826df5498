"""Pictures of a small training: its curves, its attention, its answers, and several runs over each other."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tiles import tiles
from tfcore.charts.tokens import label_room
from tfcore.training.lab.curves import Curves, Evaluation

MOST = 300  # points of a curve that travel
SMALL = 8  # maps up to which each has MANY cells along a side, and beyond which it has FEW
MANY = 64
FEW = 32
GRAIN = 24  # cells along a side of a map at least
TRAIN = "@embedding"
HELD = "@accent"
BATCH = "@muted/0.55"
RIGHT = "@value/0.22"
WRONG = "@query/0.30"


def run_figure(curves: Curves, steps: int, uniform: float, height: int) -> go.Figure:
    """Loss above, accuracy below: on rows just trained on, and on rows held out.

    Args:
        steps: of the whole training, so that the axis stays while the curves grow.
        uniform: loss of a uniform guess, nats.
        height: in pixels.
    """
    data = [
        _line(*thinned(curves.step, curves.loss), "each batch", BATCH, width=1.0),
        _line(curves.at, curves.train_loss, "trained on", TRAIN, dash="dash"),
        _line(curves.at, curves.held_loss, "held out", HELD),
        _line(curves.at, curves.train_accuracy, "trained on", TRAIN, dash="dash", axis="2", shown=False),
        _line(curves.at, curves.held_accuracy, "held out", HELD, axis="2", shown=False),
    ]
    layout = theme.base_layout(
        height,
        margin={"t": 34, "b": 40},
        legend={"y": 1.02},
        xaxis=kit.axis("training step", [0, 1.02 * steps], fixed=True, anchor="y2"),
        yaxis=kit.axis("loss, nats", [0, loss_axis_end(curves, uniform)], fixed=True, domain=[0.46, 1]),
        yaxis2=kit.axis("accuracy", [0, 1.04], fixed=True, domain=[0, 0.36], tickformat=".0%"),
        shapes=[_level(uniform, "y", steps)],
        annotations=[_note(uniform, "guessing", steps)],
    )
    return theme.build(data, layout)


def loss_axis_end(curves: Curves, uniform: float) -> float:
    """The end of the axis of losses: it seldom changes while a run goes on."""
    seen = [float(values.max()) for values in (curves.train_loss, curves.held_loss) if len(values)]
    return 1.12 * min(max([uniform, *(value for value in seen if math.isfinite(value))]), 6 * uniform)


def thinned(
    x: Int[ndarray, " step"], y: Float[ndarray, " step"], most: int = MOST
) -> tuple[Int[ndarray, " some"], Float[ndarray, " some"]]:
    """Every second, third ... point, and the last one."""
    if len(x) <= most:
        return x, y
    chosen = np.unique(np.append(np.arange(0, len(x), -(-len(x) // most)), len(x) - 1))
    return x[chosen], y[chosen]


def _line(
    x: ndarray,
    y: ndarray,
    name: str,
    colour: str,
    *,
    dash: str = "solid",
    width: float = 2.2,
    axis: str = "",
    shown: bool = True,
    form: str = ".3f",
) -> dict[str, Any]:
    return kit.line(
        np.asarray(x, np.int32),
        np.asarray(y, np.float32),
        colour,
        name=name,
        width=width,
        dash=dash,
        yaxis=f"y{axis}",
        showlegend=shown,
        hovertemplate="step %{x}: %{y:" + form + "}<extra>" + name + "</extra>",
    )


def _level(y: float, axis: str, steps: int) -> dict[str, Any]:
    line = {"color": "@muted", "width": 1, "dash": "dot"}
    return kit.stroke(0, 1.02 * steps, y, y, yref=axis, line=line)


def _note(y: float, words: str, steps: int, axis: str = "y") -> dict[str, Any]:
    return kit.note(words, 1.02 * steps, y, size=11, yref=axis, xanchor="right", yanchor="bottom")


def dials_figure(curves: Curves, steps: int, clip: float, height: int) -> go.Figure:
    """The norm of the gradient with the bound it is clipped to, and the learning rate.

    Args:
        clip: 0 is off.
    """
    data = [
        _line(*thinned(curves.step, curves.norm), "gradient norm", "@query", width=1.4),
        _line(*thinned(curves.step, curves.lr), "learning rate", "@position", axis="2", form=".2e"),
    ]
    bounds = [_level(clip, "y", steps)] if clip else []
    words = [_note(clip, f"clipped to {clip:g}", steps)] if clip else []
    layout = theme.base_layout(
        height,
        margin={"t": 30, "b": 40},
        legend={"y": 1.02},
        shapes=bounds,
        annotations=words,
        xaxis=kit.axis("training step", [0, 1.02 * steps], fixed=True, anchor="y2"),
        yaxis=kit.axis("norm", fixed=True, rangemode="tozero", domain=[0.52, 1]),
        yaxis2=kit.axis("rate", fixed=True, rangemode="tozero", domain=[0, 0.4], exponentformat="e"),
    )
    return theme.build(data, layout)


def head_maps_figure(look: Evaluation, height: int) -> go.Figure:
    """Every head's map on the example."""
    layers, heads = look.patterns.shape[:2]
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    maps = largest_weights(look.patterns.reshape(layers * heads, *look.patterns.shape[2:]), tokens_a_cell(look))
    larger = max(1, GRAIN // maps.shape[-1])  # the gaps between maps are parts of a map, in whole cells
    return tiles(
        maps.repeat(larger, axis=1).repeat(larger, axis=2),
        [f"layer {layer}, head {head}" if heads <= 4 else f"{layer}.{head}" for layer, head in places],
        heads,
        hovers=[f"layer {layer}, head {head}: rows look, columns are looked at" for layer, head in places],
        height=height,
        axes=("query token", "key: the token looked at"),
    )


def tokens_a_cell(look: Evaluation) -> int:
    """How many tokens share a cell along each side of a map: many large maps would take long to travel."""
    layers, heads, n, _ = look.patterns.shape
    return -(-n // (FEW if layers * heads > SMALL else MANY))


def largest_weights(maps: Float[ndarray, "tile row column"], every: int) -> Float[ndarray, "tile fewer fewer"]:
    """The largest weight of each every x every cells."""
    if every == 1:
        return maps
    tiles_, n = maps.shape[0], maps.shape[1]
    side = -(-n // every)
    padded = np.zeros((tiles_, side * every, side * every), maps.dtype)
    padded[:, :n, :n] = maps
    cells: ndarray = padded.reshape(tiles_, side, every, side, every).max(axis=(2, 4))
    return cells


def answer_figure(look: Evaluation, labels: Sequence[str], height: int) -> go.Figure:
    """The end of one row: the right tokens, and the model's under teacher forcing and free-running.

    Args:
        labels: of all tokens by id, safe for plotly.
    """
    rows = {"right": look.wanted, "teacher forcing": look.forced, "free-running": look.free}
    n, names = len(look.wanted), list(rows)
    hits = np.stack([ids == look.wanted for ids in rows.values()]).astype(np.float32)
    hits[0] = np.nan
    places = [(i, row) for row in range(3) for i in range(n)]
    size = 15 if n <= 20 else 12 if n <= 36 else 9
    data: list[dict[str, Any]] = [
        kit.cells(
            hits, [[0, WRONG], [1, RIGHT]], 0, 1, hover=False, xgap=2, ygap=4, showscale=False, hoverongaps=False
        ),
        kit.words(
            [i for i, _ in places],
            [row for _, row in places],
            [labels[int(rows[names[row]][i])] for i, row in places],
            "@ink",
            family=theme.MONO,
            size=size,
            hover="%{customdata}",
            showlegend=False,
            customdata=[_sentence(look, labels, names[row], i) for i, row in places],
        ),
    ]
    layout = theme.base_layout(
        height,
        margin={"l": label_room(names) + 6, "r": 8, "t": 8, "b": 36},
        xaxis=kit.axis(
            "place of the answer",
            [-0.6, n - 0.4],
            fixed=True,
            grid=False,
            tickvals=list(range(0, n, max(1, n // 8))),
            ticktext=[str(i + 1) for i in range(0, n, max(1, n // 8))],
        ),
        yaxis=kit.axis(
            None,
            [2.6, -0.6],
            fixed=True,
            grid=False,
            tickvals=[0, 1, 2],
            ticktext=names,
            automargin=False,
            tickfont={"size": 12, "color": "@ink"},
        ),
    )
    return theme.build(data, layout)


def _sentence(look: Evaluation, labels: Sequence[str], row: str, place: int) -> str:
    wanted = labels[int(look.wanted[place])]
    if row == "right":
        return f"'{wanted}' is right; the model gives it {look.sure[place]:.0%}"
    predicted = labels[int((look.forced if row == "teacher forcing" else look.free)[place])]
    return f"{row}: it says '{predicted}', right is '{wanted}'"


def right_shares_figure(look: Evaluation, height: int) -> go.Figure:
    """The share of right tokens by place of the answer, under teacher forcing and free-running."""
    x = np.arange(1, len(look.wanted) + 1)
    data = [
        _line(x, look.by_place_forced, "teacher forcing", TRAIN, dash="dash"),
        _line(x, look.by_place_free, "free-running", HELD),
    ]
    for trace in data:
        trace |= {"mode": "lines+markers", "marker": {"size": 5}, "hovertemplate": "place %{x}: %{y:.0%}"}
    layout = theme.base_layout(
        height,
        margin={"t": 30, "b": 40},
        xaxis=kit.axis("place of the answer", [0.5, len(x) + 0.5], fixed=True),
        yaxis=kit.axis("right", [0, 1.05], fixed=True, tickformat=".0%"),
    )
    return theme.build(data, layout)


def compare_figure(runs: Sequence[tuple[str, Curves]], accuracy: bool, height: int) -> go.Figure:
    """Held-out loss or accuracy of several runs.

    Args:
        runs: (name, curves), names safe for plotly.
        accuracy: instead of the loss.
    """
    data = [
        _line(
            c.at, c.held_accuracy if accuracy else c.held_loss, name, f"@cat{i}", dash=("solid", "dash", "dot")[i % 3]
        )
        for i, (name, c) in enumerate(runs)
    ]
    finite = [float(np.nanmax(c.held_loss)) for _, c in runs if len(c.held_loss) and np.isfinite(c.held_loss).any()]
    loss_axis = {"title": "held-out loss, nats", "range": [0, 1.08 * max(finite, default=1.0)]}
    share_axis = {"title": "held-out accuracy", "range": [0, 1.04], "tickformat": ".0%"}
    layout = theme.base_layout(
        height,
        margin={"t": 50, "b": 40},
        xaxis=kit.axis("training step", fixed=True, rangemode="tozero"),
        yaxis={**(share_axis if accuracy else loss_axis), "fixedrange": True},
    )
    return theme.build(data, layout)
