"""Figures of features: those of a text, token by token; how strongly one is active; those most like it; a sparse
dictionary in training: its measures by step, and how like the shipped features its own are."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import MOST_LABELS, SLANT, hover_ticks, label_room, ticks
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.dictionaries.quality import Quality

ROW = 20  # pixels, of a feature
COLUMN = 20  # pixels, of a token at least
FEATURE = "@seq:feedforward"
BINS = 25  # of cosines, from 0 to 1
MEASURES: tuple[tuple[str, str, str, Callable[[Quality], float]], ...] = (
    ("loss recovered", "@feedforward", "circle", lambda quality: quality.loss_recovered),
    ("explained variance", "@residual", "square", lambda quality: quality.explained_variance),
)


def map_height(rows: int, labels: Sequence[str]) -> int:
    """Of a map of features, in pixels."""
    return round(ROW * rows + 10 + label_room(labels, SLANT) + 28)


def map_width(columns: int, names: Sequence[str]) -> int:
    """The least width of a map of features, in pixels: a token is never narrower than a finger can hit."""
    return round(COLUMN * columns + _room(names) + 8)


def _room(names: Sequence[str]) -> float:
    return label_room(names) + 6


def feature_map(
    values: Float[ndarray, "row token"],
    features: Sequence[int],
    names: Sequence[str],
    labels: Sequence[str],
    chosen: int,
    height: int,
) -> go.Figure:
    """Activations, a row for each feature and a column for each token; a click carries the feature's number.

    Args:
        features: numbers of the rows.
        names: of the rows, and labels: of the tokens; safe for plotly.
        chosen: number of the feature whose row is framed.
    """
    rows, columns = values.shape
    cells = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        "zmin": 0,
        "zmax": max(float(values.max(initial=0.0)), 1e-6),
        "colorscale": FEATURE,
        "xgap": 1,
        "ygap": 1,
        "customdata": [[feature] * columns for feature in features],
        "hovertemplate": "feature %{customdata} at %{x}: %{z:.2f}<extra></extra>",
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
    }
    unseen = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x2", "hoverinfo": "skip", "showlegend": False}
    axis: dict[str, Any] = {"showgrid": False, "fixedrange": True, "automargin": False}
    across = [-0.5, columns - 0.5]
    layout = theme.base_layout(
        height,
        xaxis={**axis, **hover_ticks(labels), "range": across},
        xaxis2={
            **axis,
            **ticks(labels, 2 * MOST_LABELS),
            "range": across,
            "overlaying": "x",
            "side": "bottom",
            "tickangle": -SLANT,
            "title": {"text": "token of the text", "standoff": 4},
        },
        yaxis={
            **axis,
            "tickvals": list(range(rows)),
            "ticktext": list(names),
            "range": [rows - 0.5, -0.5],
            "tickfont": {"family": theme.MONO, "size": 11, "color": "@ink"},
        },
        margin={"l": _room(names), "r": 8, "t": 6, "b": label_room(labels, SLANT) + 26},
        shapes=[
            {
                "type": "rect",
                "x0": across[0],
                "x1": across[1],
                "y0": row - 0.5,
                "y1": row + 0.5,
                "line": {"color": "@accent", "width": 2},
            }
            for row, feature in enumerate(features)
            if feature == chosen
        ],
    )
    return theme.build([cells, unseen], layout)


def histogram_figure(shares: Float[ndarray, " bin"], largest: float, height: int) -> go.Figure:
    """How strongly a feature is active where it is: shares of these places by activation, in equal steps.

    Args:
        shares: from 0 to the largest activation.
    """
    bins = len(shares)
    step = max(largest, 1e-6) / bins
    bars = {
        "type": "bar",
        "x": ((np.arange(bins) + 0.5) * step).astype(np.float32),
        "y": shares.astype(np.float32),
        "width": step,
        "marker": {"color": "@feedforward", "line": {"color": "@paper", "width": 1}},
        "customdata": [[i * step, (i + 1) * step] for i in range(bins)],
        "hovertemplate": "%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y:.1%}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "activation, where it is above 0", "range": [0, bins * step], "fixedrange": True},
        yaxis={"title": "share", "tickformat": ".0%", "rangemode": "tozero", "fixedrange": True},
        margin={"t": 8},
        bargap=0,
    )
    return theme.build([bars], layout)


def neighbours_figure(
    features: Sequence[int], names: Sequence[str], cosines: Sequence[float], height: int
) -> go.Figure:
    """The features that write most nearly the same, by cosine; a click carries the feature's number.

    Args:
        names: of the features, safe for plotly; written in the bars.
    """
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": list(range(len(features))),
        "x": [round(float(value), 4) for value in cosines],
        "marker": {"color": "@feedforward/0.45"},
        "text": list(names),
        "textposition": "inside",
        "insidetextanchor": "start",
        "insidetextfont": {"color": "@ink", "size": 12, "family": theme.MONO},
        "constraintext": "none",
        "textangle": 0,
        "cliponaxis": False,
        "customdata": list(features),
        "hovertemplate": "feature %{customdata}: cosine %{x:.2f}<extra></extra>",
    }
    low, high = min(0.0, *map(float, cosines)), max(0.0, *map(float, cosines))
    layout = theme.base_layout(
        height,
        xaxis={"title": "cosine of what they write", "range": [low, max(0.5, 1.1 * high)], "fixedrange": True},
        yaxis={"visible": False, "autorange": "reversed", "fixedrange": True},
        margin={"l": 12, "t": 8},
        bargap=0.2,
    )
    return theme.build([bars], layout)


# ---- a dictionary in training ----


def quality_figure(moments: Sequence[DictionaryMoment], steps: int, height: int) -> go.Figure:
    """Loss recovered and explained variance above, features that never fire below, over the steps of training.

    Args:
        steps: of the whole training, so that the axis stays while curves grow.
        height: in pixels.
    """
    x = [one.step for one in moments]
    data: list[dict[str, Any]] = []
    for name, colour, symbol, of in MEASURES:
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": x,
                "y": [of(one.quality) for one in moments],
                "line": {"color": colour, "width": 2.2},
                "marker": {"size": 6, "symbol": symbol},
                "hovertemplate": "step %{x}: %{y:.1%}<extra>" + name + "</extra>",
            }
        )
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{name}, shipped",
                "x": [0, steps],
                "y": [of(moments[-1].shipped)] * 2,
                "line": {"color": colour, "width": 1.6, "dash": "dash"},
                "hovertemplate": "%{y:.1%}<extra>" + name + ", shipped</extra>",
            }
        )
    dead = [one.quality.dead for one in moments]
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "features that never fire",
            "x": x,
            "y": dead,
            "yaxis": "y2",
            "line": {"color": "@muted", "width": 2},
            "marker": {"size": 5, "symbol": "diamond"},
            "hovertemplate": "step %{x}: %{y}<extra>features that never fire</extra>",
        }
    )
    layout = theme.base_layout(
        height,
        xaxis={"title": "training step", "range": [-0.02 * steps, 1.02 * steps], "fixedrange": True, "anchor": "y2"},
        yaxis={"title": "share", "tickformat": ".0%", "range": [0, 1.03], "domain": [0.36, 1], "fixedrange": True},
        yaxis2={
            "title": "never fire",
            "range": [0, max(10, 1.2 * max(dead))],
            "nticks": 4,
            "domain": [0, 0.26],
            "fixedrange": True,
        },
        margin={"t": 84},
        legend={"y": 1.03},
    )
    return theme.build(data, layout)


def cosine_figure(moments: Sequence[DictionaryMoment], height: int) -> go.Figure:
    """Features by their cosine with the closest shipped one: now, and as an outline before the first step.

    Args:
        height: in pixels.
    """
    edges = np.linspace(0, 1, BINS + 1)
    counts = [np.histogram(np.clip(one.cosine, 0, 1), edges)[0] for one in (moments[-1], moments[0])]
    middle, last = (edges[:-1] + edges[1:]) / 2, moments[-1].step
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": f"step {last}",
            "x": middle,
            "y": counts[0],
            "width": 1 / BINS,
            "marker": {"color": "@feedforward/0.6", "line": {"color": "@paper", "width": 1}},
            "customdata": np.stack((edges[:-1], edges[1:]), axis=1),
            "hovertemplate": "cosine %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y} features<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "step 0",
            "x": middle,
            "y": counts[1],
            "line": {"color": "@muted", "width": 2, "shape": "hvh"},
            "hovertemplate": "%{y} features<extra>step 0</extra>",
        },
    ]
    layout = theme.base_layout(
        height,
        xaxis={"title": "cosine with the closest shipped feature", "range": [0, 1], "fixedrange": True},
        yaxis={"title": "features", "rangemode": "tozero", "fixedrange": True},
        margin={"t": 44},
        legend={"y": 1.05},
        bargap=0,
    )
    return theme.build(data, layout)
