"""Pictures of other routing rules: the loss of a text over one rule at a time, and the change of each token's loss."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import MOST_LABELS, SLANT, label_room, token_axis
from tfcore.views.experts.routing.measure.rules import RoutingSweep


def sweep_figure(sweep: RoutingSweep, loss: float, now: float, height: int) -> go.Figure:
    """The loss of the text over the number of experts, the capacity factor and the noise, each changed alone.

    Args:
        loss: with the routing trained; dotted.
        now: the loss with what is set; dashed.
    """
    data = [
        _curve("token choice", sweep.top_k, sweep.tokens, "", "@cat0", "solid"),
        _curve("expert choice", sweep.top_k, sweep.experts, "", "@cat1", "dash"),
        _curve("capacity", sweep.capacity, sweep.cut, "2", "@cat0", "solid"),
        _curve("noise", (0.0, *sweep.noise), (loss, *sweep.noisy), "3", "@cat0", "solid"),
    ]
    losses = [
        value for values in (sweep.tokens, sweep.experts, sweep.cut, sweep.noisy, (loss, now)) for value in values
    ]
    low, high = min(losses), max(losses)
    side = {"fixedrange": True, "showgrid": False, "anchor": "y"}
    layout = theme.base_layout(
        height,
        margin={"t": 44, "r": 14},
        xaxis={
            **side,
            "domain": [0, 0.29],
            "title": "experts per token",
            "dtick": 1,
            "range": [0.7, max(sweep.top_k) + 0.3],
        },
        xaxis2={**side, "domain": [0.355, 0.645], "title": "capacity factor"},
        xaxis3={**side, "domain": [0.71, 1], "title": "noise σ"},
        yaxis=kit.axis(
            "loss, nats per token", [max(0.0, low - 0.08 * (high - low)), high + 0.08 * (high - low)], fixed=True
        ),
        shapes=[
            kit.across(y, colour, width=1.3, dash=dash)
            for y, colour, dash in ((loss, "@muted", "dot"), (now, "@ink", "dash"))
        ],
        legend={"y": 1.04},
    )
    return theme.build(data, layout)


def _curve(
    name: str, x: Sequence[float | int], y: Sequence[float], axis: str, colour: str, dash: str
) -> dict[str, Any]:
    return kit.line(
        list(x),
        [round(v, 4) for v in y],
        colour,
        name=name,
        width=2,
        dash=dash,
        hover=f"{name}, %{{x}}: %{{y:.3f}} nats per token",
        marks={"color": colour, "size": 7},
        xaxis=f"x{axis}",
        showlegend=axis == "",
    )


def loss_changes_figure(
    tokens: Sequence[str], change: Float[ndarray, " seq"], lost: Bool[ndarray, " seq"], height: int
) -> go.Figure:
    """The rise of each token's loss from that with the routing trained.

    Args:
        tokens: their labels, safe for plotly.
        change: of the loss of each token, in nats; the first has none and is 0.
        lost: where in the chosen layer no expert took the token before it.
    """
    n = len(tokens)
    bars = kit.bars(
        list(range(n)),
        change.astype(np.float32),
        ["@cat1" if v > 0 else "@cat0" for v in change.tolist()],
        hover="'%{text}' (%{x}): %{y:+.2f} nats",
        text=list(tokens),
        textposition="none",
    )
    most = max(1.0, float(np.abs(change).max(initial=0)))
    layout = theme.base_layout(
        height,
        margin={"t": 10, "b": label_room(tokens, SLANT) + 8},
        bargap=0.15,
        xaxis=token_axis(tokens, MOST_LABELS // 2),
        yaxis=kit.axis(
            "change of the loss, nats",
            [min(-0.5, 1.08 * float(change.min(initial=0))), 1.08 * most],
            fixed=True,
            zero=True,
        ),
        shapes=[
            kit.box(i - 0.5, i + 0.5, 0, 1, "@muted/0.16", width=0, below=True, paper="y", xref="x")
            for i in np.flatnonzero(lost)
        ],
    )
    return theme.build([bars], layout)
