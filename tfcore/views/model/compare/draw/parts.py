"""Pictures of two models' parts: distances of heads, a head's two maps, moved matrices, streams exchanged."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.boards import MOST_NUMBERS, board_height
from tfcore.charts.ranges import round_up
from tfcore.charts.tokens import token_heatmap
from tfcore.measures.heads.kinds import Place
from tfcore.views.model.compare.measure.attention import ComparedHeads
from tfcore.views.model.compare.measure.exchanged import ExchangedStreams
from tfcore.views.model.compare.measure.weights import MovedWeights

HEADS_ROW = 28  # pixels of a layer of heads
LOW_ROW = 18  # the same where there are more than MOST_HIGH
MOST_HIGH = 12
MATRIX_ROW = 34  # of a kind of matrix
ACROSS_DISTANCE = 0.2  # least end of the colour scale of distances
MOST_KEYS = 14  # tokens written under a map, which has a third of the width
LOWEST_SHARE = 1e-3  # of all directions, where the colour scale of ranks begins


def heads_figure(read: ComparedHeads, selected: Place) -> go.Figure:
    """A field for each head, coloured by the distance of its two maps, the selected one framed; a dot where its kind is
    another. A click carries x = head, y = layer."""
    layers, heads = read.distance.shape
    kinds = [
        [_turned(read.before.kind[place], read.after.kind[place]) for place in row]
        for row in (((layer, head) for head in range(heads)) for layer in range(layers))
    ]
    few = read.distance.size <= MOST_NUMBERS
    fields: dict[str, Any] = kit.cells(
        read.distance.astype(np.float32),
        "@seq:attention",
        0,
        min(1.0, max(ACROSS_DISTANCE, round_up(float(read.distance.max())))),
        hover="head %{y}.%{x}: %{z:.1%} of its weight lies elsewhere; %{text}",
        text=kinds,
        xgap=2,
        ygap=2,
        showscale=False,
    )
    if few:
        fields |= {"texttemplate": "%{z:.0%}", "textfont": {"size": 11}}
    layer, head = np.nonzero(read.changed)
    dots = kit.dots(
        (head + 0.34).astype(np.float32),
        (layer - 0.26).astype(np.float32),
        "@accent",
        size=6,
        name="of another kind",
        marker={"line": {"width": 1, "color": "@paper"}},
        hover=False,
        showlegend=False,
    )
    row, column = selected
    axis = {"showgrid": False, "fixedrange": True}
    layout = theme.base_layout(
        board_height(layers, HEADS_ROW if layers <= MOST_HIGH else LOW_ROW),
        xaxis={**axis, "title": "head", "dtick": 1 if heads <= 16 else 4, "range": [-0.55, heads - 0.45]},
        yaxis={**axis, "title": "layer", "dtick": 1 if layers <= 16 else 4, "range": [layers - 0.45, -0.55]},
        margin={"t": 8, "r": 8},
        shapes=[kit.box(column - 0.5, column + 0.5, row - 0.5, row + 0.5, edge="@accent", width=2.5)],
    )
    return theme.build([fields, dots], layout)


def _turned(before: str, after: str) -> str:
    return before if before == after else f"{before}, then {after}"


def map_figure(pattern: Float[ndarray, "query key"], labels: Sequence[str], title: str, height: int) -> go.Figure:
    """One head's map in one of the two models.

    Args:
        labels: of the tokens, safe for plotly.
        title: of its rows, safe for plotly.
    """
    return token_heatmap(pattern, labels, height=height, bar=False, title=title, most_keys=MOST_KEYS)


def norms_figure(read: MovedWeights) -> go.Figure:
    """The relative norm of each matrix's difference, layers across and kinds down."""
    top = max(float(read.norms.max()), 1e-6)
    bar = kit.colour_bar(tickformat=".2~p")
    return _matrices_figure(read, read.norms, (0.0, top), "relative norm %{customdata[0]:.3~p}", bar)


def ranks_figure(read: MovedWeights) -> go.Figure:
    """The effective rank of each matrix's difference as a share of the largest possible, by its logarithm: an adapter
    moves a few of hundreds."""
    shares = np.log10(np.maximum(read.ranks / np.array(read.full), LOWEST_SHARE))
    decades = list(range(round(math.log10(LOWEST_SHARE)), 1))
    bar = kit.colour_bar(tickvals=decades, ticktext=[f"{100 * 10.0**power:g}%" for power in decades])
    hover = "effective rank %{customdata[1]:.3~g} of %{customdata[2]}"
    return _matrices_figure(read, shares, (float(decades[0]), 0.0), hover, bar)


def _matrices_figure(
    read: MovedWeights, values: Float[ndarray, "layer kind"], ends: tuple[float, float], hover: str, bar: dict[str, Any]
) -> go.Figure:
    layers = len(values)
    full = np.broadcast_to(np.array(read.full), read.norms.shape)
    fields = kit.cells(
        values.T.astype(np.float32),
        "@seq:accent",
        *ends,
        hover=f"layer %{{x}}, W_%{{y}}: {hover}",
        customdata=np.stack([read.norms.T, read.ranks.T, full.T], -1).astype(np.float32),
        xgap=1,
        ygap=1,
        hoverongaps=False,
        colorbar=bar,
    )
    layer, column = read.furthest
    layout = theme.base_layout(
        90 + MATRIX_ROW * len(read.kinds),
        margin={"t": 10, "l": 60},
        xaxis=kit.axis("layer", fixed=True, grid=False, dtick=1 if layers <= 16 else 4),
        yaxis=kit.axis(
            None,
            [len(read.kinds) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(len(read.kinds))),
            ticktext=[f"W_{name}" for name in read.kinds],
        ),
        shapes=[kit.box(layer - 0.5, layer + 0.5, column - 0.5, column + 0.5, edge="@ink", width=2)],
    )
    return theme.build([fields], layout)


def exchanged_figure(read: ExchangedStreams, token: int, label: str, height: int) -> go.Figure:
    """The KL divergence that is left with the first model's stream before each block: mean over the text, and after one
    token; without any exchange as a dashed line.

    Args:
        label: of the token, safe for plotly.
    """
    places = list(range(len(read.kl)))
    names = [f"before block {place}" for place in places[:-1]] + ["after the last block"]
    lines = [
        kit.line(
            places,
            values.astype(np.float32),
            colour,
            name=name,
            width=width,
            marks={"size": 5},
            customdata=names,
            hovertemplate="%{customdata}: %{y:.3g} nats<extra>" + name + "</extra>",
        )
        for values, colour, name, width in (
            (read.kl.mean(1), "@residual", "mean of all tokens", 3),
            (read.kl[:, token], "@accent", f"after '{label}'", 1.5),
        )
    ]
    plain = float(read.unchanged.mean())
    top = max(float(read.kl.mean(1).max()), float(read.kl[:, token].max()), plain, 1e-6)
    layout = theme.base_layout(
        height,
        margin={"t": 44},
        xaxis=kit.axis(
            "block before which the stream is exchanged",
            [-0.4, len(places) - 0.6],
            fixed=True,
            grid=False,
            dtick=1 if len(places) <= 16 else 4,
        ),
        yaxis=kit.axis("KL left, nats", [0, 1.1 * top], fixed=True),
        shapes=[kit.across(plain, width=1, dash="dash")],
        annotations=[
            kit.note(f"without: {plain:.3g}", 1, plain, size=11, paper="x", xanchor="right", yanchor="bottom")
        ],
    )
    return theme.build(lines, layout)
