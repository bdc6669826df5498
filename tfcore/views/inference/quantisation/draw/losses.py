"""Figures of what fewer bits cost: held-out loss against bits, and the time of a product in each data type."""

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.theme import base_layout, build
from tfcore.measures.quantities import counted
from tfcore.views.inference.quantisation.measure.losses import HOW, LossTable
from tfcore.views.inference.quantisation.measure.speed import TOKENS, SpeedPoint

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
CLEAR = 8.0  # nats: as much as guessing between 3,000 tokens; higher losses are drawn at the edge


def losses_figure(table: LossTable, data_type: str, height: int) -> go.Figure:
    """Loss against bits per value, the points of one data type enlarged; float types as marks without a line."""
    data = [_way(table, how, place, data_type) for place, how in enumerate(table.ways) if how != "none"]
    data += [_floats(table)] if any(point.how == "none" for point in table.points) else []
    line = kit.across(table.unrounded, width=1.5, dash="dash", below=False)
    layout = base_layout(
        height,
        shapes=[line],
        margin={"t": 64},
        xaxis=kit.axis(
            "bits per value, scales included (logarithmic)",
            [math.log10(1.85), math.log10(17.5)],
            log=True,
            fixed=True,
            tickvals=[2, 3, 4, 5, 6, 8, 16],
        ),
        yaxis=kit.axis("nats per token", [0.94 * table.unrounded, CLEAR + 0.3], fixed=True),
    )
    return build(data, layout)


def _way(table: LossTable, how: str, place: int, data_type: str) -> dict[str, Any]:
    own = sorted((p for p in table.points if p.how == how), key=lambda p: p.bits)
    integers = [p for p in own if p.format.startswith("int")]
    return kit.line(
        [p.bits for p in integers],
        [min(p.loss, CLEAR) for p in integers],
        f"@cat{place}",
        name=HOW[how],
        width=2,
        marks={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": [13 if p.format == data_type else 7 for p in integers]},
        customdata=[[p.format, p.loss] for p in integers],
        hovertemplate=(
            "%{customdata[0]}, %{x:.2f} bits: %{customdata[1]:.3f} nats per token<extra>" + HOW[how] + "</extra>"
        ),
    )


def _floats(table: LossTable) -> dict[str, Any]:
    own = [p for p in table.points if not p.format.startswith("int")]
    return kit.dots(
        [p.bits for p in own],
        [min(p.loss, CLEAR) for p in own],
        "@ink",
        name="float types",
        symbol="star",
        size=9,
        hover="%{customdata[0]}, %{customdata[1]}: %{customdata[2]:.3f} nats per token",
        customdata=[[p.format, HOW[p.how], p.loss] for p in own],
    )


def speeds_figure(points: Sequence[SpeedPoint], height: int) -> go.Figure:
    """Milliseconds of the product for each data type, with one token and with many."""
    names = list(dict.fromkeys(point.name for point in points))
    data = [
        kit.bars(
            [1e3 * p.seconds for p in points if p.tokens == tokens],
            [names.index(p.name) for p in points if p.tokens == tokens],
            f"@cat{place}",
            name=counted(tokens, "token"),
            hover="%{x:.3g} ms",
            orientation="h",
            text=[p.milliseconds for p in points if p.tokens == tokens],
            textposition="auto",
        )
        for place, tokens in enumerate(TOKENS)
    ]
    layout = base_layout(
        height,
        bargap=0.3,
        margin={"t": 34, "l": 150},
        xaxis=kit.axis("milliseconds (logarithmic)", log=True, fixed=True),
        yaxis=kit.axis(
            None,
            [len(names) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(len(names))),
            ticktext=[name.replace(" via", "<br>via") for name in names],
            tickfont={"size": 12, "color": "@ink"},
        ),
    )
    return build(data, layout)
