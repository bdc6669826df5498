"""Pictures of an embedding table: the map of its rows, one token's neighbours, lengths, and what a scale saves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
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
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": result.points[rows, 0].astype(np.float32),
                "y": result.points[rows, 1].astype(np.float32),
                "customdata": result.ids[rows].astype(np.int32),
                "text": [labels[row] for row in rows.tolist()],
                "marker": {"size": 4, "color": f"@cat{i}", "opacity": 0.55},
                "hovertemplate": "'%{text}' (id %{customdata})<extra></extra>",
            }
        )
    place = {token: i for i, token in enumerate(result.ids.tolist())}
    chosen = [place[token] for token in (near.token, *near.ids)]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": result.points[chosen, 0].astype(np.float32),
            "y": result.points[chosen, 1].astype(np.float32),
            "text": [labels[i] for i in chosen],
            "showlegend": False,
            "customdata": [near.token, *near.ids],
            "hovertemplate": "'%{text}' (id %{customdata})<extra></extra>",
            "marker": {
                "size": [13, *[8] * len(near.ids)],
                "color": ["@accent", *["@paper"] * len(near.ids)],
                "line": {"color": "@accent", "width": 2},
            },
        }
    )
    notes = [
        {
            "x": float(result.points[i, 0]),
            "y": float(result.points[i, 1]),
            "text": labels[i],
            "showarrow": False,
            "xanchor": "left",
            "xshift": 8,
            "font": {"family": theme.MONO, "size": 12, "color": "@ink"},
            "bgcolor": "@paper/0.7",
            "borderpad": 1,
        }
        for i in _apart(result.points[chosen[:4]], result.points, chosen[:4])
    ]
    first, second = (float(100 * share) for share in result.explained[:2])
    layout = theme.base_layout(
        height,
        xaxis={"title": f"component 1: {first:.1f} % of the variance", "zeroline": False},
        yaxis={"title": f"component 2: {second:.1f} %"},
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
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": list(near.cosines),
        "y": places,
        "marker": {"color": "@embedding"},
        "text": [f"{cosine:.2f}" for cosine in near.cosines],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": list(near.ids),
        "hovertemplate": "cosine %{x:.3f}, id %{customdata}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "cosine", "range": [0, 1.08]},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": places,
            "ticktext": list(labels),
            "showgrid": False,
            "tickfont": {"family": theme.MONO, "size": 12, "color": "@ink"},
        },
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
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": result.ids[rows].astype(np.int32),
                "y": result.norms[rows].astype(np.float32),
                "customdata": result.ids[rows].astype(np.int32),
                "marker": {"size": 3.5, "color": f"@cat{i}", "opacity": 0.7},
                "hovertemplate": "id %{x}: length %{y:.2f}<extra></extra>",
            }
        )
    dot = {
        "type": "scatter",
        "mode": "markers",
        "x": [token],
        "y": [float(result.norms[result.ids == token][0])],
        "hoverinfo": "skip",
        "marker": {"size": 11, "color": "@accent"},
    }
    last = int(result.ids.max())
    layout = theme.base_layout(
        height,
        xaxis={"title": "token id", "range": [-0.01 * last - 1, 1.01 * last + 1]},
        yaxis={"title": "length of the row", "range": [0, float(result.norms.max()) * 1.08]},
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
        {
            "type": "bar",
            "x": middles,
            "y": np.histogram(result.norms * factor, bins)[0],
            "name": name,
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": "length %{x:.1f}: %{y} tokens<extra></extra>",
        }
        for factor, name, colour in ((1.0, "E as it is", "@embedding/0.45"), (scale, f"{scale:.1f} · E", "@embedding"))
    ]
    line = {
        "type": "line",
        "yref": "paper",
        "x0": result.position_norm,
        "x1": result.position_norm,
        "y0": 0,
        "y1": 1,
        "line": {"color": "@position", "width": 3},
    }
    note = {
        "x": result.position_norm,
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "xanchor": "left",
        "xshift": 6,
        "text": f"every PE(p): {result.position_norm:.1f}",
        "showarrow": False,
        "font": {"size": 12, "color": "@position"},
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "length of the vector", "range": [0, longest]},
        yaxis={"title": "tokens"},
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
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": scales,
            "y": values[order].astype(np.float32),
            "name": name,
            "line": {"color": colour, "dash": dash},
            "marker": {"size": 5, "color": colour},
            "hovertemplate": "scale %{x:.1f}: %{y:.0%}<extra></extra>",
        }
        for name, values, colour, dash in (
            ("tokens still recognised", result.recognised, "@embedding", "solid"),
            ("token's share of the sum", result.share, "@muted", "dot"),
        )
    ]
    dot = {
        "type": "scatter",
        "mode": "markers",
        "x": [float(result.scales[now])],
        "hoverinfo": "skip",
        "y": [float(result.recognised[now])],
        "marker": {"size": 12, "color": "@accent"},
        "showlegend": False,
    }
    root = float(np.sqrt(result.d_model))
    layout = theme.base_layout(
        height,
        xaxis={"title": "scale", "range": [0, 20.5]},
        yaxis={"range": [0, 1.05], "tickformat": ".0%"},
        shapes=[
            {
                "type": "line",
                "yref": "paper",
                "x0": root,
                "x1": root,
                "y0": 0,
                "y1": 1,
                "line": {"color": "@muted", "width": 1, "dash": "dash"},
            }
        ],
        annotations=[
            {
                "x": root,
                "y": 0.04,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": "right",
                "xshift": -4,
                "text": f"√{result.d_model} = {root:.1f}",
                "showarrow": False,
                "font": {"size": 12, "color": "@muted"},
            }
        ],
        margin={"t": 36},
    )
    return theme.build([*traces, dot], layout)
