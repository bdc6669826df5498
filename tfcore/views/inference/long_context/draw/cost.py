"""Pictures of what length costs: the matrices of one head drawn to scale, operations and memory as lines."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.measures.flop_count import LengthCost
from tfcore.views.inference.long_context.measure.cost import GPU

POWERS = {0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}


def scale_figure(n: int, d_head: int, height: int) -> go.Figure:
    """Q, K, V, the scores and the output of one head, all to one scale, as the product stands on paper."""
    gap = 0.06 * (n + 2 * d_head)
    parts = (  # name, left, top, width, height, colour
        (f"Q<br>{n:,} × {d_head}", 0.0, d_head + gap, d_head, n, "@query"),
        (f"Kᵀ: {d_head} × {n:,}", d_head + gap, 0.0, n, d_head, "@key"),
        (f"scores, weights<br><b>{n:,} × {n:,}</b>", d_head + gap, d_head + gap, n, n, "@attention"),
        ("V", d_head + n + 2 * gap, d_head + gap, d_head, n, "@value"),
        ("output", 2 * d_head + n + 3 * gap, d_head + gap, d_head, n, "@residual"),
    )
    shapes, notes = [], []
    for name, left, top, width, tall, colour in parts:
        shapes.append(kit.box(left, left + width, top, top + tall, f"{colour}/0.35", edge=colour, width=1.5))
        side = name.startswith(("K", "V"))
        below = not side and "scores" not in name
        notes.append(
            kit.note(
                name,
                left + width / 2,
                top if side else top + tall if below else top + tall / 2,
                "@ink",
                size=12 if "scores" not in name else 15,
                yanchor="bottom" if side else "top" if below else "middle",
                yshift=4 if side else -4 if below else 0,
            )
        )
    axis = {"visible": False, "fixedrange": True}
    wide, high = 3 * d_head + n + 3 * gap, d_head + gap + n
    layout = theme.base_layout(
        height,
        xaxis={**axis, "range": [-0.09 * wide, 1.09 * wide], "scaleanchor": "y"},
        yaxis={**axis, "range": [1.16 * high, -0.09 * high]},
        shapes=shapes,
        annotations=notes,
        margin={"l": 4, "r": 4, "t": 8, "b": 8},
        showlegend=False,
    )
    empty = {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}
    return theme.build([empty], layout)


def operations_figure(cost: LengthCost, at: int, height: int) -> go.Figure:
    """FLOPs of both kinds against length, and where they cross."""
    lines = (
        ("with weights: n", cost.linear, "@feedforward", "dash"),
        ("query with key: n²", cost.squared, "@attention", "solid"),
    )
    data = [_line(cost.n, y, name, colour, dash, "FLOPs") for name, y, colour, dash in lines]
    cross = math.log10(cost.crossing)
    note = kit.note(
        f"equal at {cost.crossing:,.0f}", cross, 0.03, paper="y", xanchor="left", yanchor="bottom", xshift=6
    )
    crossing = kit.upright(cost.crossing, width=1, dash="dot")
    return _panel(data, cost, at, "FLOPs of one pass", height, [note], [crossing])


def layer_memory_figure(cost: LengthCost, at: int, height: int) -> go.Figure:
    """Bytes of the score matrices and of the vectors of one layer against length, and of one large GPU as a line."""
    lines = (
        ("Q, K, V, output: n", cost.vectors, "@feedforward", "dash"),
        ("scores: n²", cost.matrices, "@attention", "solid"),
    )
    data = [_line(cost.n, y.astype(np.float64), name, colour, dash, "bytes") for name, y, colour, dash in lines]
    rule = kit.across(GPU, width=1, dash="dot")
    note = kit.note(
        f"a GPU of {GPU / 2**30:.0f} GiB", 0.01, math.log10(GPU), paper="x", xanchor="left", yanchor="bottom"
    )
    return _panel(data, cost, at, "bytes in one layer", height, [note], [rule])


def _line(x: ndarray, y: ndarray, name: str, colour: str, dash: str, unit: str) -> dict[str, Any]:
    return kit.line(
        x, y, colour, name=name, width=2.5, dash=dash, hover=f"%{{x:,}} tokens: %{{y:.3s}} {unit}<extra>{name}</extra>"
    )


def _panel(
    data: list[dict[str, Any]], cost: LengthCost, at: int, title: str, height: int, notes: list[Any], shapes: list[Any]
) -> go.Figure:
    """Two lines on logarithmic axes, the chosen length marked on both."""
    marks = [
        kit.dots(cost.n[[at]], line["y"][[at]], line["line"]["color"], size=10, hover=False, showlegend=False)
        for line in data
    ]
    chosen = kit.upright(int(cost.n[at]), "@accent", width=1.5)
    layout = theme.base_layout(
        height,
        xaxis=lengths_axis(cost.n),
        yaxis=powers_axis(title, np.concatenate([line["y"] for line in data])),
        annotations=notes,
        shapes=[*shapes, chosen],
        margin={"t": 40},
    )
    return theme.build([*data, *marks], layout)


def lengths_axis(n: ndarray, every: int = 3) -> dict[str, Any]:
    """A logarithmic axis of lengths, powers of two written as 1k, 8k, 64k."""
    ticks = [int(length) for length in n[::every]]
    names = [f"{t // 2**20}M" if t >= 2**20 else f"{t // 1024}k" if t >= 1024 else str(t) for t in ticks]
    low, high = math.log10(n[0]), math.log10(n[-1])
    return kit.axis("tokens n", [low - 0.05, high + 0.08], log=True, fixed=True, tickvals=ticks, ticktext=names)


def powers_axis(title: str, values: Float[ndarray, " value"]) -> dict[str, Any]:
    """A logarithmic axis around these values: thousands, tens or 1, 2, 5 are written, as many as there is room for."""
    finite = values[np.isfinite(values) & (values > 0)]
    low, high = math.log10(float(finite.min())) - 0.3, math.log10(float(finite.max())) + 0.3
    whole = range(math.ceil(low), math.floor(high) + 1)
    ticks = [10.0**p for p in whole if p % 3 == 0]
    if len(ticks) < 3:
        ticks = [10.0**p for p in whole]
    if len(ticks) < 3:
        ticks = [step * 10.0**p for p in range(whole.start - 1, whole.stop) for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= math.log10(tick) <= high]
    return kit.axis(title, [low, high], log=True, fixed=True, tickvals=ticks, ticktext=[_short(tick) for tick in ticks])


def _short(value: float) -> str:
    """200M: one of the numbers above, in few signs."""
    power = min(max(math.floor(math.log10(value) + 1e-9) // 3 * 3, 0), max(POWERS))
    return f"{value / 10.0**power:g}{POWERS[power]}"
