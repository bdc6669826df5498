"""Pictures of an embedding table: the map of its rows, one token's neighbours, lengths, and what a scale saves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.views.foundations.tokens.measure.embedding_scale import ScaleEffect
from tfcore.views.foundations.tokens.measure.embedding_table import Neighbours, TableMap


def map_figure(
    result: TableMap, groups: Sequence[int], names: Sequence[str], labels: Sequence[str], near: Neighbours, height: int
) -> go.Figure:
    """Rows on the first two principal components, coloured by kind; a token and its neighbours are named.

    Args:
        result: the map.
        groups: the kind of each of its tokens, an index of `names`.
        names: of the kinds.
        labels: each of its tokens, safe for plotly.
        near: the token that is marked, and its neighbours.
        height: in pixels.
    """
    kinds = np.array(groups)
    traces: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        rows = np.flatnonzero(kinds == i)
        traces.append(
            kit.dots(
                result.points[rows, 0].astype(np.float32),
                result.points[rows, 1].astype(np.float32),
                f"@cat{i}",
                name=name,
                size=4,
                marker={"opacity": 0.55},
                hover="'%{text}' (id %{customdata})",
                customdata=result.ids[rows].astype(np.int32),
                text=[labels[row] for row in rows.tolist()],
            )
        )
    place = {token: i for i, token in enumerate(result.ids.tolist())}
    chosen = [place[token] for token in (near.token, *near.ids)]
    traces.append(
        kit.dots(
            result.points[chosen, 0].astype(np.float32),
            result.points[chosen, 1].astype(np.float32),
            ["@accent", *["@paper"] * len(near.ids)],
            size=[13, *[8] * len(near.ids)],
            marker={"line": {"color": "@accent", "width": 2}},
            hover="'%{text}' (id %{customdata})",
            text=[labels[i] for i in chosen],
            showlegend=False,
            customdata=[near.token, *near.ids],
        )
    )
    notes = [
        kit.note(
            labels[i],
            float(result.points[i, 0]),
            float(result.points[i, 1]),
            "@ink",
            family=theme.MONO,
            xanchor="left",
            xshift=8,
            bgcolor="@paper/0.7",
            borderpad=1,
        )
        for i in _apart(result.points[chosen[:4]], result.points, chosen[:4])
    ]
    first, second = (float(100 * share) for share in result.explained[:2])
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(f"component 1: {first:.1f} % of the variance", zeroline=False),
        yaxis=kit.axis(f"component 2: {second:.1f} %"),
        annotations=notes,
        legend={"itemsizing": "constant"},
        margin={"t": 44},
    )
    return theme.build(traces, layout)


NEAR_X = 0.2  # of the width: names nearer than that, and than NEAR_Y of the height, would lie over each other
NEAR_Y = 0.05


def _apart(points: Float[ndarray, "name 2"], every: Float[ndarray, "row 2"], places: Sequence[int]) -> list[int]:
    """The places whose names have room, in their order."""
    scaled = points / (np.ptp(every, axis=0) * (NEAR_X, NEAR_Y) + 1e-12)
    kept: list[int] = []
    for i, point in enumerate(scaled):
        if all(np.abs(point - scaled[other]).max() >= 1 for other in kept):
            kept.append(i)
    return [places[i] for i in kept]


def neighbours_figure(near: Neighbours, labels: Sequence[str], height: int) -> go.Figure:
    """Cosines with the nearest rows, as bars with the tokens beside them."""
    places = list(range(len(near.ids)))
    trace = kit.bars(
        list(near.cosines),
        places,
        "@embedding",
        hover="cosine %{x:.3f}, id %{customdata}",
        orientation="h",
        text=[f"{cosine:.2f}" for cosine in near.cosines],
        textposition="outside",
        cliponaxis=False,
        customdata=list(near.ids),
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("cosine", [0, 1.08]),
        yaxis=kit.axis(
            grid=False,
            autorange="reversed",
            tickmode="array",
            tickvals=places,
            ticktext=list(labels),
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
        ),
        margin={"t": 8, "r": 30},
    )
    return theme.build([trace], layout)


def norms_figure(result: TableMap, groups: Sequence[int], names: Sequence[str], token: int, height: int) -> go.Figure:
    """Length of every row by its id, coloured by kind: ids rise in the order in which the merges were learned."""
    kinds = np.array(groups)
    traces: list[dict[str, Any]] = []
    for i, name in enumerate(names):
        rows = np.flatnonzero(kinds == i)
        traces.append(
            kit.dots(
                result.ids[rows].astype(np.int32),
                result.norms[rows].astype(np.float32),
                f"@cat{i}",
                name=name,
                size=3.5,
                marker={"opacity": 0.7},
                hover="id %{x}: length %{y:.2f}",
                customdata=result.ids[rows].astype(np.int32),
            )
        )
    dot = kit.dots([token], [float(result.norms[result.ids == token][0])], "@accent", size=11, hover=False)
    last = int(result.ids.max())
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("token id", [-0.01 * last - 1, 1.01 * last + 1]),
        yaxis=kit.axis("length of the row", [0, float(result.norms.max()) * 1.08]),
        margin={"t": 8},
        showlegend=False,
    )
    return theme.build([*traces, dot], layout)


def lengths_figure(result: ScaleEffect, scale: float, height: int) -> go.Figure:
    """How long the rows are as they are and times the scale, against the one length of all position vectors."""
    longest = float(result.norms.max()) * 20
    bins = np.linspace(0, longest, 161)
    middles = ((bins[1:] + bins[:-1]) / 2).astype(np.float32)
    traces = [
        kit.bars(
            middles,
            np.histogram(result.norms * factor, bins)[0],
            colour,
            name=name,
            marker={"line": {"width": 0}},
            hover="length %{x:.1f}: %{y} tokens",
        )
        for factor, name, colour in ((1.0, "E as it is", "@embedding/0.45"), (scale, f"{scale:.1f} · E", "@embedding"))
    ]
    line = kit.upright(result.position_norm, "@position", width=3, below=False)
    note = kit.note(
        f"every PE(p): {result.position_norm:.1f}",
        result.position_norm,
        1,
        "@position",
        paper="y",
        yanchor="top",
        xanchor="left",
        xshift=6,
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("length of the vector", [0, longest]),
        yaxis=kit.axis("tokens"),
        shapes=[line],
        annotations=[note],
        barmode="overlay",
        bargap=0,
        margin={"t": 36},
    )
    return theme.build(traces, layout)


def recognised_figure(result: ScaleEffect, now: int, height: int) -> go.Figure:
    """By scale: the share of tokens still found after a position vector was added, and the token's share of the sum."""
    order = np.argsort(result.scales)
    scales = result.scales[order].astype(np.float32)
    traces = [
        kit.line(
            scales,
            values[order].astype(np.float32),
            colour,
            name=name,
            dash=dash,
            hover="scale %{x:.1f}: %{y:.0%}",
            marks={"size": 5, "color": colour},
        )
        for name, values, colour, dash in (
            ("tokens still recognised", result.recognised, "@embedding", "solid"),
            ("token's share of the sum", result.share, "@muted", "dot"),
        )
    ]
    dot = kit.dots(
        [float(result.scales[now])], [float(result.recognised[now])], "@accent", size=12, hover=False, showlegend=False
    )
    root = float(np.sqrt(result.d_model))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("scale", [0, 20.5]),
        yaxis=kit.axis(None, [0, 1.05], tickformat=".0%"),
        shapes=[kit.upright(root, width=1, dash="dash", below=False)],
        annotations=[
            kit.note(
                f"√{result.d_model} = {root:.1f}", root, 0.04, paper="y", yanchor="bottom", xanchor="right", xshift=-4
            )
        ],
        margin={"t": 36},
    )
    return theme.build([*traces, dot], layout)
