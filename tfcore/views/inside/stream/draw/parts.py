"""How a logit adds up, and the colours of the parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import ghosts, kit, theme
from tfcore.views.inside.stream.measure.parts import OTHERS

ROLES = {  # by how names of parts begin; all others are attention, or heads
    "embedding": "@embedding",
    "positions": "@position",
    "biases": "@norm",
    "feed-forward": "@feedforward",
    "FF": "@feedforward",
    "mixer": "@cat2",
    OTHERS: "@muted",
}


def part_role(name: str) -> str:
    """The colour role of a part, from its name, such as "attention 2", "head 0 of layer 2" or "FF 2"."""
    return next((role for start, role in ROLES.items() if name.startswith(start)), "@attention")


def beside_figure(rows: Sequence[tuple[str, float, float]], names: tuple[str, str]) -> go.Figure:
    """The shares of parts in two logits: bars of the second, and behind them those of the first as outlines.

    Args:
        rows: name of a part, and its two shares.
        names: of both in the legend.
    """
    parts, first, second = (list(column) for column in zip(*rows, strict=True))
    low, high = min(0.0, *first, *second), max(0.0, *first, *second)
    room = ghosts.LONG * (high - low)
    layout = theme.base_layout(
        100 + 28 * len(rows),
        barmode="overlay",
        xaxis=kit.axis("share in the logit", [low - 0.1 * room, high + 1.5 * room], fixed=True, zero=True),
        yaxis=kit.axis(
            None, [len(parts) - 0.4, -0.6], fixed=True, grid=False, tickvals=list(range(len(parts))), ticktext=parts
        ),
        legend={"traceorder": "normal", "y": 1.03},
        margin={"t": 64, "r": 12},
    )
    said = "{:+.2f}".format
    bars = ghosts.bars_with_ghosts(first, second, parts, "@residual", names=names, said=said, lying=True)
    words = [ghosts.both(was, now, said) for was, now in zip(first, second, strict=True)]
    ends = [[max(value, 0.0) for value in column] for column in (first, second)]
    return theme.build([*bars, ghosts.numbers_beside(ends[0], ends[1], words)], layout)


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
    bars: dict[str, Any] = kit.bars(
        values,
        places,
        [*roles, "@residual"],
        hover="%{text} logits, sum so far %{customdata:.2f}",
        orientation="h",
        base=[*starts, 0.0],
        customdata=[*ends.tolist(), total],
        text=[f"{value:+.2f}" for value in values],
        textposition="none",
    )
    tips = [max(start, start + value) for start, value in zip([*starts, 0.0], values, strict=True)]
    words = kit.words(
        tips,
        places,
        [f" {value:+.2f}" for value in values],
        "@ink",
        size=12,
        hover=False,
        textposition="middle right",
        cliponaxis=False,
    )
    low, high = min(0.0, *ends.tolist()), max(0.0, *ends.tolist(), 1e-3)
    room = 0.16 * (high - low)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("sum so far (logits)", [low - 0.03 * (high - low), high + room], fixed=True, zero=True),
        yaxis=kit.axis(
            None, [len(places) - 0.4, -0.6], fixed=True, grid=False, tickvals=places, ticktext=[*names, "<b>sum</b>"]
        ),
        margin={"t": 8, "r": 12},
        bargap=0.25,
        showlegend=False,
    )
    return theme.build([bars, words], layout)
