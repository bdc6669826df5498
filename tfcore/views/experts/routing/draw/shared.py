"""Pictures of shared experts: their part in what a layer writes, and what each prediction loses without them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import SLANT, label_room, token_axis

SHARED, ROUTED = "@cat0", "@cat1"


def share_figure(tokens: Sequence[str], share: Float[ndarray, " seq"], even: float, height: int) -> go.Figure:
    """A bar for each token: below what the shared experts write, above it what the chosen ones do.

    Args:
        tokens: their labels, safe for plotly.
        share: of the shared experts.
        even: their share if every expert at work wrote as much; a line.
    """
    known = np.clip(share, 0, 1)
    named = [(f"'{token}' ({i})", part) for i, (token, part) in enumerate(zip(tokens, share.tolist(), strict=True))]
    bars: list[dict[str, Any]] = [
        kit.bars(
            list(range(len(tokens))),
            part.astype(np.float32),
            colour,
            name=name,
            hover="%{text}",
            text=words,
            textposition="none",
        )
        for name, colour, part, words in (
            ("shared", SHARED, known, [f"{token}: {part:.0%} shared" for token, part in named]),
            ("chosen", f"{ROUTED}/0.45", 1 - known, [f"{token}: {1 - part:.0%} chosen" for token, part in named]),
        )
    ]
    layout = _by_token(
        tokens,
        height,
        barmode="stack",
        yaxis=kit.axis("of what the layer writes", [0, 1], fixed=True, tickformat=".0%"),
        shapes=[kit.across(even, "@ink", width=1.5, dash="dot", below=False)],
    )
    return theme.build(bars, layout)


def missed_figure(
    tokens: Sequence[str], without_shared: Float[ndarray, " next"], without_routed: Float[ndarray, " next"], height: int
) -> go.Figure:
    """The rise of each token's loss, the first apart, without the shared experts, and without the chosen."""
    places = list(range(1, len(tokens)))
    bars = [
        kit.bars(
            places,
            change.astype(np.float32),
            colour,
            name=name,
            hover=f"'%{{text}}' (%{{x}}), {name}: %{{y:+.2f}} nats",
            text=list(tokens[1:]),
            textposition="none",
        )
        for name, colour, change in (
            ("without the shared", SHARED, without_shared),
            ("without the chosen", ROUTED, without_routed),
        )
    ]
    layout = _by_token(
        tokens, height, barmode="group", yaxis=kit.axis("change of the loss, nats", fixed=True, zero=True)
    )
    return theme.build(bars, layout)


def _by_token(tokens: Sequence[str], height: int, **more: Any) -> dict[str, Any]:
    """A layout with the tokens of a text below, and a legend above."""
    return theme.base_layout(
        height,
        margin={"t": 34, "b": label_room(tokens, SLANT) + 8},
        bargap=0.12,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        xaxis=token_axis(tokens),
        **more,
    )
