"""Charts of probes by layer, of a direction and what adding it does, and of two sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.ghosts import both
from tfcore.charts.tokens import SLANT, label_room, matrix_layout, token_axis

EVERY = 13  # layers up to which each is written
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
TOKEN = 24  # pixels, of a token below bars, at least
ROW = 24  # pixels, of a token of the first sentence
COLUMN = 28  # pixels, of a token of the second sentence, at least


# ---- by layer ----


def layer_axis(count: int) -> dict[str, Any]:
    """The embedding and layers 0, 1, ... along x, index 0 being the embedding."""
    places = list(range(count)) if count <= EVERY else [0, *range(6, count, 5)]
    return kit.axis(
        "layer after which the stream is read",
        [-0.03 * count - 0.2, count - 0.8 + 0.03 * count],
        fixed=True,
        grid=False,
        tickvals=places,
        ticktext=["emb.", *(str(i - 1) for i in places[1:])],
        tickangle=0,
    )


def accuracy_figure(
    accuracy: Float[ndarray, " layer"],
    interval: Sequence[tuple[float, float]],
    control: Float[ndarray, " layer"] | None,
    baseline: tuple[float, str],
    layers: int,
    chosen: int,
    height: int,
    name: str = "probe",
) -> go.Figure:
    """Accuracy by layer with its interval as a band, the control task, and a baseline; a click carries the index.

    Args:
        interval: of each accuracy.
        control: of the control task; None where there is none.
        baseline: an accuracy, and its name in the legend.
        layers: how many there will be; the curves may still grow.
        chosen: index of the layer that is marked.
        name: of the curve, in the legend.
    """
    x = list(range(len(accuracy)))
    band = {
        "type": "scatter",
        "x": [*x, *reversed(x)],
        "y": [round(low, 4) for low, _ in interval] + [round(high, 4) for _, high in reversed(interval)],
        "fill": "toself",
        "fillcolor": "@residual/0.22",
        "line": {"width": 0, "color": "@residual/0"},
        "name": "95 % interval",
        "hoverinfo": "skip",
    }
    data = [band, _line(x, accuracy, name, "@residual", "solid")]
    if control is not None:
        data.append(_line(x, control, "control task (random labels)", "@muted", "dash"))
    level, words = baseline
    data.append(
        kit.line(
            [-0.5, layers - 0.5],
            [round(level, 4)] * 2,
            "@ink",
            name=words,
            width=1.2,
            dash="dot",
            hover=f"{words}: %{{y:.1%}}",
        )
    )
    layout = theme.base_layout(
        height,
        xaxis=layer_axis(layers),
        yaxis=kit.axis("correct, held out", [0, 1.03], fixed=True, tickformat=".0%"),
        shapes=[_mark(chosen)],
        margin={"t": 48},
    )
    return theme.build(data, layout)


def _line(x: Sequence[int], y: Float[ndarray, " layer"], name: str, colour: str, dash: str) -> dict[str, Any]:
    return kit.line(
        list(x),
        [round(float(v), 4) for v in y],
        colour,
        name=name,
        width=2.4,
        dash=dash,
        hover=f"{name}: %{{y:.1%}}",
        marks={"size": 6, "color": colour},
        customdata=list(x),
    )


def classes_figure(
    labels: Sequence[str], shares: Sequence[float], interval: Sequence[tuple[float, float]], height: int
) -> go.Figure:
    """The share of each class that is read correctly, with its interval.

    Args:
        labels: of the classes, with how many words each has; safe for plotly.
    """
    places = list(range(len(labels)))
    bars = kit.bars(
        [round(share, 4) for share in shares],
        places,
        "@residual/0.55",
        hover="%{y}: %{x:.1%}",
        orientation="h",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [round(high - share, 4) for share, (_, high) in zip(shares, interval, strict=True)],
            "arrayminus": [round(share - low, 4) for share, (low, _) in zip(shares, interval, strict=True)],
            "color": "@ink",
            "thickness": 1,
            "width": 3,
        },
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("correct of its words", [0, 1.03], fixed=True, tickformat=".0%"),
        yaxis=kit.axis(fixed=True, grid=False, tickvals=places, ticktext=list(labels), autorange="reversed"),
        margin={"t": 8, "l": 110},
        bargap=0.25,
    )
    return theme.build([bars], layout)


# ---- a direction ----


def projection_figure(scores: Float[ndarray, " seq"], labels: Sequence[str], height: int) -> go.Figure:
    """The score of each token: above 0 on the side of the first class, below on that of the second.

    Args:
        scores: NaN where there is none.
        labels: of the tokens, safe for plotly.
    """
    bars = kit.bars(
        list(range(len(labels))),
        scores.astype(np.float32),
        ["@residual" if score > 0 else "@key" for score in scores],
        hover="'%{customdata}': %{y:+.2f}",
        customdata=list(labels),
    )
    layout = theme.base_layout(
        height,
        xaxis=token_axis(labels),
        yaxis=kit.axis("score", fixed=True, zero=True),
        margin={"t": 8, "b": label_room(labels, SLANT) + 12},
        bargap=0.2,
    )
    return theme.build([bars], layout)


def next_figure(
    probabilities: Float[ndarray, "token factor"],
    labels: Sequence[str],
    factors: Sequence[float],
    chosen: float,
    height: int,
) -> go.Figure:
    """The probability of some next tokens by the factor; the chosen factor is marked, a click carries its index, and
    hovers say both numbers, that of factor 0 first.

    Args:
        labels: of the tokens, safe for plotly.
    """
    places, usual = list(range(len(factors))), list(factors).index(0.0)
    data = [
        kit.line(
            places,
            [round(float(v), 4) for v in row],
            f"@cat{i}",
            name=label,
            width=2.2,
            dash=DASHES[i % len(DASHES)],
            hover=f"'{label}': %{{hovertext}}",
            hovertext=[both(float(row[usual]), float(v)) for v in row],
            marks={"size": 6, "color": f"@cat{i}"},
            customdata=places,
        )
        for i, (label, row) in enumerate(zip(labels, probabilities, strict=True))
    ]
    layout = theme.base_layout(
        height,
        xaxis=_factor_axis(factors),
        yaxis=kit.axis("probability of the next token", fixed=True, rangemode="tozero", tickformat=".0%"),
        shapes=[_mark(factors.index(chosen))],
        legend={"font": {"size": 12, "family": theme.MONO}},
        margin={"t": 64},
    )
    return theme.build(data, layout)


def _factor_axis(factors: Sequence[float]) -> dict[str, Any]:
    return kit.axis(
        "factor",
        [-0.5, len(factors) - 0.5],
        fixed=True,
        grid=False,
        tickvals=list(range(len(factors))),
        ticktext=[f"{factor:+g}" if factor else "0" for factor in factors],
        tickangle=0,
    )


def _mark(place: int) -> dict[str, Any]:
    """A line at the chosen layer or factor."""
    return kit.upright(place, "@accent", width=2)


def collapse_figure(
    nats: Float[ndarray, " factor"],
    repeated: Float[ndarray, " factor"],
    factors: Sequence[float],
    collapsed: Sequence[bool],
    bounds: tuple[float, float],
    chosen: float,
    height: int,
) -> go.Figure:
    """Cross-entropy of the steered text above, how much of it is repeated below; grey where it has collapsed.

    Args:
        bounds: of the one and of the other, dotted lines.
    """
    places = list(range(len(factors)))
    rows = (
        (nats, "nats per token", bounds[0], "%{y:.2f} nats per token"),
        (repeated, "repeated", bounds[1], "%{y:.0%} repeated"),
    )
    data: list[dict[str, Any]] = []
    for i, (values, name, bound, hover) in enumerate(rows):
        axis = f"y{i + 1}" if i else "y"
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": places,
                "y": [round(float(v), 4) for v in values],
                "yaxis": axis,
                "name": name,
                "line": {"color": "@residual" if not i else "@ink", "width": 2.2},
                "hovertemplate": f"{hover}<extra></extra>",
                "showlegend": False,
            }
        )
        data.append(
            kit.line(
                [-0.5, len(factors) - 0.5],
                [bound, bound],
                "@muted",
                width=1.2,
                dash="dot",
                hover=f"collapsed above {bound:g}",
                yaxis=axis,
                showlegend=False,
            )
        )
    shade = [
        kit.box(place - 0.5, place + 0.5, 0, 1, "@muted/0.18", width=0, below=True, paper="y")
        for place, bad in zip(places, collapsed, strict=True)
        if bad
    ]
    layout = theme.base_layout(
        height,
        xaxis={**_factor_axis(factors), "anchor": "y2"},
        yaxis=kit.axis("nats per token", fixed=True, rangemode="tozero", domain=[0.54, 1]),
        yaxis2=kit.axis("repeated", [0, 1.02], fixed=True, tickformat=".0%", domain=[0, 0.44]),
        shapes=[*shade, _mark(factors.index(chosen))],
        margin={"t": 12},
    )
    return theme.build(data, layout)


# ---- two sentences ----


def pairs_height(rows: int, labels: Sequence[str]) -> int:
    """The height of the matrix, in pixels."""
    return round(max(180, min(ROW * rows, 560)) + 12 + label_room(labels, SLANT) + 26)


def pairs_figure(parts: Float[ndarray, "one two"], one: Sequence[str], two: Sequence[str]) -> go.Figure:
    """The first sentence down, the second across; blue takes from the cosine, red adds to it.

    Args:
        one, two: labels of the tokens, safe for plotly.
    """
    reach = max(float(np.abs(parts).max()), 1e-6)
    cells = kit.cells(
        parts.astype(np.float32),
        "@signed",
        -reach,
        reach,
        hover="%{y} with %{x}: %{z:+.4f}",
        xgap=1,
        ygap=1,
        colorbar=kit.colour_bar(),
    )
    unseen = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x2", "yaxis": "y2", "showlegend": False}
    layout = matrix_layout(one, two, pairs_height(len(one), two), "first sentence", "second sentence")
    return theme.build([cells, unseen], layout)
