"""Figures of features: those of a text, token by token; how strongly one is active; those most like it; a sparse
dictionary in training: its measures by step, and how like the shipped features its own are."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import MOST_LABELS, SLANT, hover_ticks, label_room, ticks
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
    """The height of a map of features, in pixels."""
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
    cells = kit.cells(
        values.astype(np.float32),
        FEATURE,
        0,
        max(float(values.max(initial=0.0)), 1e-6),
        hover="feature %{customdata} at %{x}: %{z:.2f}",
        xgap=1,
        ygap=1,
        customdata=[[feature] * columns for feature in features],
        colorbar=kit.colour_bar(),
    )
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
            kit.box(across[0], across[1], row - 0.5, row + 0.5, edge="@accent", width=2)
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
    bars = kit.bars(
        ((np.arange(bins) + 0.5) * step).astype(np.float32),
        shares.astype(np.float32),
        "@feedforward",
        marker={"line": {"color": "@paper", "width": 1}},
        hover="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y:.1%}",
        width=step,
        customdata=[[i * step, (i + 1) * step] for i in range(bins)],
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("activation, where it is above 0", [0, bins * step], fixed=True),
        yaxis=kit.axis("share", fixed=True, tickformat=".0%", rangemode="tozero"),
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
    bars = kit.bars(
        [round(float(value), 4) for value in cosines],
        list(range(len(features))),
        "@feedforward/0.45",
        hover="feature %{customdata}: cosine %{x:.2f}",
        orientation="h",
        text=list(names),
        textposition="inside",
        insidetextanchor="start",
        insidetextfont={"color": "@ink", "size": 12, "family": theme.MONO},
        constraintext="none",
        textangle=0,
        cliponaxis=False,
        customdata=list(features),
    )
    low, high = min(0.0, *map(float, cosines)), max(0.0, *map(float, cosines))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("cosine of what they write", [low, max(0.5, 1.1 * high)], fixed=True),
        yaxis=kit.axis(fixed=True, visible=False, autorange="reversed"),
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
            kit.line(
                x,
                [of(one.quality) for one in moments],
                colour,
                name=name,
                width=2.2,
                marks={"size": 6, "symbol": symbol},
                hovertemplate="step %{x}: %{y:.1%}<extra>" + name + "</extra>",
            )
        )
        data.append(
            kit.line(
                [0, steps],
                [of(moments[-1].shipped)] * 2,
                colour,
                name=f"{name}, shipped",
                width=1.6,
                dash="dash",
                hovertemplate="%{y:.1%}<extra>" + name + ", shipped</extra>",
            )
        )
    dead = [one.quality.dead for one in moments]
    data.append(
        kit.line(
            x,
            dead,
            "@muted",
            name="features that never fire",
            width=2,
            hover="step %{x}: %{y}<extra>features that never fire</extra>",
            marks={"size": 5, "symbol": "diamond"},
            yaxis="y2",
        )
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("training step", [-0.02 * steps, 1.02 * steps], fixed=True, anchor="y2"),
        yaxis=kit.axis("share", [0, 1.03], fixed=True, tickformat=".0%", domain=[0.36, 1]),
        yaxis2=kit.axis("never fire", [0, max(10, 1.2 * max(dead))], fixed=True, nticks=4, domain=[0, 0.26]),
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
        kit.bars(
            middle,
            counts[0],
            "@feedforward/0.6",
            name=f"step {last}",
            marker={"line": {"color": "@paper", "width": 1}},
            hover="cosine %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y} features",
            width=1 / BINS,
            customdata=np.stack((edges[:-1], edges[1:]), axis=1),
        ),
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
        xaxis=kit.axis("cosine with the closest shipped feature", [0, 1], fixed=True),
        yaxis=kit.axis("features", fixed=True, rangemode="tozero"),
        margin={"t": 44},
        legend={"y": 1.05},
        bargap=0,
    )
    return theme.build(data, layout)
