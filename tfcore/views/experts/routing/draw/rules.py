"""Pictures of other routing rules: the loss of a text over one rule at a time, and the change of each token's loss."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import MOST_LABELS, SLANT, label_room, token_axis
from tfcore.views.experts.routing.measure.rules import RoutingSweep


def sweep_figure(found: RoutingSweep, loss: float, now: float, height: int) -> go.Figure:
    """The loss of the text over the number of experts, the capacity factor and the noise, each changed alone.

    Args:
        loss: with the routing trained; dotted.
        now: the loss with what is set; dashed.
    """
    data = [
        _curve("token choice", found.top_k, found.tokens, "", "@cat0", "solid"),
        _curve("expert choice", found.top_k, found.experts, "", "@cat1", "dash"),
        _curve("capacity", found.capacity, found.cut, "2", "@cat0", "solid"),
        _curve("noise", (0.0, *found.noise), (loss, *found.noisy), "3", "@cat0", "solid"),
    ]
    losses = [
        value for values in (found.tokens, found.experts, found.cut, found.noisy, (loss, now)) for value in values
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
            "range": [0.7, max(found.top_k) + 0.3],
        },
        xaxis2={**side, "domain": [0.355, 0.645], "title": "capacity factor"},
        xaxis3={**side, "domain": [0.71, 1], "title": "noise σ"},
        yaxis={
            "title": "loss, nats per token",
            "fixedrange": True,
            "range": [max(0.0, low - 0.08 * (high - low)), high + 0.08 * (high - low)],
        },
        shapes=[
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": y,
                "y1": y,
                "layer": "below",
                "line": {"color": colour, "width": 1.3, "dash": dash},
            }
            for y, colour, dash in ((loss, "@muted", "dot"), (now, "@ink", "dash"))
        ],
        legend={"y": 1.04},
    )
    return theme.build(data, layout)


def _curve(
    name: str, x: Sequence[float | int], y: Sequence[float], axis: str, colour: str, dash: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(x),
        "y": [round(v, 4) for v in y],
        "xaxis": f"x{axis}",
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "size": 7},
        "showlegend": axis == "",
        "hovertemplate": f"{name}, %{{x}}: %{{y:.3f}} nats per token<extra></extra>",
    }


def loss_changes_figure(
    tokens: Sequence[str], change: Float[ndarray, " seq"], lost: Bool[ndarray, " seq"], height: int
) -> go.Figure:
    """By how much each token of a text is predicted worse than with the routing trained.

    Args:
        tokens: their labels, safe for plotly.
        change: of the loss of each token, in nats; the first has none and is 0.
        lost: where in the chosen layer no expert took the token before it.
    """
    n = len(tokens)
    bars = {
        "type": "bar",
        "x": list(range(n)),
        "y": change.astype(np.float32),
        "text": list(tokens),
        "textposition": "none",
        "hovertemplate": "'%{text}' (%{x}): %{y:+.2f} nats<extra></extra>",
        "marker": {"color": ["@cat1" if v > 0 else "@cat0" for v in change.tolist()]},
    }
    most = max(1.0, float(np.abs(change).max(initial=0)))
    layout = theme.base_layout(
        height,
        margin={"t": 10, "b": label_room(tokens, SLANT) + 8},
        bargap=0.15,
        xaxis=token_axis(tokens, MOST_LABELS // 2),
        yaxis={
            "title": "change of the loss, nats",
            "range": [min(-0.5, 1.08 * float(change.min(initial=0))), 1.08 * most],
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": "@muted",
        },
        shapes=[
            {
                "type": "rect",
                "xref": "x",
                "yref": "paper",
                "x0": i - 0.5,
                "x1": i + 0.5,
                "y0": 0,
                "y1": 1,
                "layer": "below",
                "line": {"width": 0},
                "fillcolor": "@muted/0.16",
            }
            for i in np.flatnonzero(lost)
        ],
    )
    return theme.build([bars], layout)
