"""Pictures of masks: who may look, what that does to scores and weights, and what leaks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.ranges import round_up
from tfcore.charts.tokens import MOST_LABELS, SLANT, label_room, ticks, token_heatmap
from tfcore.measures.leaks import Leak
from tfcore.views.foundations.masks.measure import MaskedAttention

ZERO = -9.0  # where the leak figure draws an exact 0, which has no logarithm
TOP = 2.0


def masked_scores_figure(
    result: MaskedAttention, layer: int, head: int, labels: Sequence[str], height: int, *, masked: bool
) -> go.Figure:
    """Scores of one head before the mask, or with the mask over them (a blocked score becomes minus infinity)."""
    scores = result.scores[layer, head]
    limit = round_up(float(np.abs(scores).max()))  # the same before and after, so that the two can be compared
    return token_heatmap(
        scores,
        labels,
        blocked=~result.allowed[layer] if masked else None,
        scale="@signed",
        zmin=-limit,
        zmax=limit,
        hover="score of %{y} for %{x}: %{z:.2f}",
        blocked_hover="%{y} may not see %{x}: minus infinity",
        height=height,
    )


def masked_weights_figure(
    result: MaskedAttention, layer: int, head: int, labels: Sequence[str], height: int, *, masked: bool
) -> go.Figure:
    """Attention weights of one head, had this layer no mask, or with it."""
    if not masked:
        return token_heatmap(result.unmasked[layer, head], labels, height=height)
    return token_heatmap(result.masked[layer, head], labels, blocked=~result.allowed[layer], height=height)


def leak_figure(masked: Leak, free: Leak, labels: Sequence[str], name: str, height: int) -> go.Figure:
    """Per position, by how much the logits change when one token does: with the mask, and with none.

    Args:
        masked: with the mask.
        free: with none, on the same text.
        labels: the tokens.
        name: of the mask, for the legend.
        height: in pixels.
    """
    before = masked.position - 0.5
    shapes = [
        kit.box(-0.5, before, 0, 1, "@attention/0.07", width=0, below=True, paper="y", xref="x"),
        kit.upright(masked.position, "@accent", width=1, dash="dot", xref="x"),
    ]
    note = kit.note("changed here", masked.position, 1, "@accent", paper="y", xref="x", yanchor="bottom")
    powers = range(-8, int(TOP) + 1, 2)
    layout = theme.base_layout(
        height,
        xaxis={
            **ticks(labels, 2 * MOST_LABELS),
            "showgrid": False,
            "range": [-0.5, len(labels) - 0.5],
            "tickangle": -SLANT,
            "automargin": False,
            "title": {"text": "position", "standoff": 4},
        },
        yaxis=kit.axis(
            "largest change of a logit",
            [ZERO - 0.7, TOP + 0.4],
            tickvals=[ZERO, *powers],
            ticktext=["exactly 0", *(f"10<sup>{p}</sup>" for p in powers)],
        ),
        margin={"b": label_room(labels, SLANT) + 26, "t": 44},
        shapes=shapes,
        annotations=[note],
        legend={"y": 1.1},
    )
    data = [
        _changes(
            free, "no mask", labels, {"symbol": "circle-open", "size": 10, "color": "@muted", "line": {"width": 2}}
        ),
        _changes(masked, name, labels, {"symbol": "diamond", "size": 8, "color": "@attention"}),
    ]
    return theme.build(data, layout)


def _changes(leak: Leak, name: str, labels: Sequence[str], marker: dict[str, Any]) -> dict[str, Any]:
    height = log_or_zero(leak.difference)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": np.arange(len(height)),
        "y": height,
        "marker": marker,
        "customdata": leak.difference.astype(np.float32),
        "text": list(labels),
        "hovertemplate": "'%{text}' (%{x}): %{customdata:.3g}<extra>" + name + "</extra>",
    }


def log_or_zero(difference: Float[ndarray, " seq"]) -> Float[ndarray, " seq"]:
    """log10, with an exact 0 at its own place below everything that is not 0."""
    positive = np.maximum(difference, 10 ** (ZERO + 0.5))
    return np.where(difference == 0, ZERO, np.minimum(np.log10(positive), TOP)).astype(np.float32)
