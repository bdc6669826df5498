"""How a logit adds up, and the colours of the parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.figures import theme
from tfcore.views.inside.stream.measure.parts import OTHERS

ROLES = {  # by how names of parts begin; all others are attention
    "embedding": "@embedding",
    "positions": "@position",
    "biases": "@norm",
    "feed-forward": "@feedforward",
    "FF": "@feedforward",
    OTHERS: "@muted",
}


def part_role(name: str) -> str:
    """The colour role of a part, from its name, such as "attention 2", "head 0 of layer 2" or "FF 2"."""
    return next((role for start, role in ROLES.items() if name.startswith(start)), "@attention")


def running_sum(names: Sequence[str], shares: Sequence[float], roles: Sequence[str], height: int) -> go.Figure:
    """Each part's share begins where the one before ended; the last bar is the sum of them all.

    Args:
        names: of the parts, in the order in which the model computes them.
        shares: in logits.
        roles: colour role of each.
        height: in pixels.
    """
    ends = np.cumsum(shares)
    total = float(ends[-1])
    starts = [0.0, *ends[:-1].tolist()]
    places = list(range(len(names) + 1))
    values = [*map(float, shares), total]
    bars: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "y": places,
        "x": values,
        "base": [*starts, 0.0],
        "marker": {"color": [*roles, "@residual"]},
        "customdata": [*ends.tolist(), total],
        "hovertemplate": "%{text} logits, sum so far %{customdata:.2f}<extra></extra>",
        "text": [f"{value:+.2f}" for value in values],
        "textposition": "none",
    }
    tips = [max(start, start + value) for start, value in zip([*starts, 0.0], values, strict=True)]
    words = {
        "type": "scatter",
        "mode": "text",
        "x": tips,
        "y": places,
        "text": [f" {value:+.2f}" for value in values],
        "textposition": "middle right",
        "textfont": {"size": 12, "color": "@ink"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    low, high = min(0.0, *ends.tolist()), max(0.0, *ends.tolist(), 1e-3)
    room = 0.16 * (high - low)
    layout = theme.base_layout(
        height,
        xaxis={
            "title": "sum so far (logits)",
            "range": [low - 0.03 * (high - low), high + room],
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": "@muted",
        },
        yaxis={
            "tickvals": places,
            "ticktext": [*names, "<b>sum</b>"],
            "range": [len(places) - 0.4, -0.6],
            "fixedrange": True,
            "showgrid": False,
        },
        margin={"t": 8, "r": 12},
        bargap=0.25,
        showlegend=False,
    )
    return theme.build([bars, words], layout)
