"""Figures of the feed-forward layer: activation functions, a gated unit, matrices to scale, shares of a block."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.block_parameters import BlockShare, LayerCost
from tfcore.part_configs import Activation
from tfcore.views.block.feedforward.measure.activation_functions import (
    ACTIVATION_NAMES,
    CURVE_LIMIT,
    PLAIN_ACTIVATIONS,
    ActivationCurves,
    LayerInputs,
)
from tfcore.views.block.feedforward.measure.layers import GatedUnit

CURVE_DASHES = ("dot", "solid", "dash", "longdashdot", "longdash")


def activation_figure(result: ActivationCurves, kind: Activation, x: float, height: int, *, slope: bool) -> go.Figure:
    """All functions, or their slopes, one of them strong, with a point on it.

    Args:
        kind: the one looked at.
        x: the input looked at.
        slope: the slopes instead of the values.
    """
    rows = result.slope if slope else result.value
    chosen, data = PLAIN_ACTIVATIONS.index(kind), []
    for i in [*(i for i in range(len(PLAIN_ACTIVATIONS)) if i != chosen), chosen]:
        strong = i == chosen
        data.append(
            kit.line(
                result.x.astype(np.float32),
                rows[i].astype(np.float32),
                "@feedforward" if strong else "@muted",
                name=ACTIVATION_NAMES[PLAIN_ACTIVATIONS[i]],
                width=3.5 if strong else 1.5,
                dash="solid" if strong else CURVE_DASHES[i],
                opacity=1 if strong else 0.55,
                hovertemplate="%{x:.2f}: %{y:.4f}<extra>" + ACTIVATION_NAMES[PLAIN_ACTIVATIONS[i]] + "</extra>",
            )
        )
    at, highest = float(np.interp(x, result.x, rows[chosen])), float(rows[chosen].max())
    data.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [x],
            "y": [at],
            "text": [f"{at:.3f}<br> "],  # a line higher than the point: the curves pass beside it
            "showlegend": False,
            "textposition": "top right" if x < -3 else "top left",
            "hoverinfo": "skip",
            "cliponaxis": False,
            "marker": {"size": 11, "color": "@accent"},
            "textfont": {"size": 14, "color": "@accent"},
        }
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("input x", [-CURVE_LIMIT, CURVE_LIMIT], fixed=True),
        yaxis=kit.axis(
            "slope f′(x)" if slope else "f(x)",
            [-0.25, max(1.25, highest)] if slope else [-0.6, max(CURVE_LIMIT, highest)],
            fixed=True,
            zeroline=True,
            zerolinecolor="@grid",
        ),
        margin={"t": 62},
        showlegend=not slope,
    )
    return theme.build(data, layout)


def inputs_figure(result: LayerInputs, x: float, height: int) -> go.Figure:
    """A histogram of the inputs of a trained layer.

    Args:
        x: the input looked at.
    """
    middle, bins = (result.edges[1:] + result.edges[:-1]) / 2, len(result.share)
    bars = kit.bars(
        middle.astype(np.float32),
        result.share.astype(np.float32),
        "@feedforward",
        marker={"opacity": 0.8},
        hover="near %{x:.2f}: %{y:.2%}",
        width=2 * CURVE_LIMIT / bins,
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("input x", [-CURVE_LIMIT, CURVE_LIMIT], fixed=True),
        yaxis=kit.axis("share", fixed=True, tickformat=".0%"),
        margin={"t": 12},
        bargap=0.05,
        shapes=[
            kit.upright(x, "@accent", width=1.5, dash="dot", below=False),
            kit.upright(0.0, "@muted", width=1.5, dash="dot", below=False),
        ],
    )
    return theme.build([bars], layout)


def unit_figure(result: GatedUnit, up: float, height: int) -> go.Figure:
    """A gated unit over both of its inputs, with a line at the value looked at."""
    surface = kit.cells(
        result.gated.astype(np.float32),
        "@signed",
        -8,
        8,
        hover="gate %{x:.1f}, up %{y:.1f}: %{z:.2f}",
        x=result.gate,
        y=result.up,
        colorbar={"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("gate: W_gate x", fixed=True, grid=False),
        yaxis=kit.axis("up: W_up x", fixed=True, grid=False),
        shapes=[kit.across(up, "@accent", width=1.5, dash="dot", below=False)],
        margin={"t": 12},
    )
    return theme.build([surface], layout)


def slice_figure(result: GatedUnit, up: float, height: int) -> go.Figure:
    """The gated unit of `unit_figure` along its line, and a plain unit, which has no second input."""
    scaled = np.interp(up, result.up, np.arange(len(result.up)))
    low = int(scaled)
    part = scaled - low
    row = result.gated[low] * (1 - part) + result.gated[min(low + 1, len(result.up) - 1)] * part
    pairs = ((result.plain, "plain: act(gate)", "@muted", "dash"), (row, f"gated: × {up:g}", "@feedforward", "solid"))
    data = [
        kit.line(result.gate, y.astype(np.float32), colour, name=name, width=3, dash=dash, hover="%{x:.2f}: %{y:.3f}")
        for y, name, colour, dash in pairs
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("gate: W_gate x", fixed=True),
        yaxis=kit.axis("output of the unit", [-8.5, 8.5], fixed=True, zeroline=True, zerolinecolor="@grid"),
        margin={"t": 40},
    )
    return theme.build(data, layout)


def matrices_figure(layers: Sequence[tuple[str, LayerCost]], d_model: int, height: int) -> go.Figure:
    """The matrices of several designs side by side, as long as they have parameters.

    Args:
        layers: (name, cost) from the top down.
    """
    parts = ("up", "down", "gate")
    names = [name for name, _ in layers]
    data = []
    for i, part in enumerate(parts):
        sizes = [cost.d_ff * d_model if i < cost.matrices else 0 for _, cost in layers]
        words = [
            f"W_{part}<br>{d_model:,} × {cost.d_ff:,}" if size else ""
            for size, (_, cost) in zip(sizes, layers, strict=True)
        ]
        data.append(
            kit.bars(
                sizes,
                names,
                f"@feedforward/{(0.55, 0.3, 0.8)[i]}",
                name=f"W_{part}",
                marker={"line": {"color": "@paper", "width": 2}},
                hover=f"W_{part}: %{{x:,}} parameters",
                orientation="h",
                text=words,
                textposition="inside",
                insidetextanchor="middle",
                showlegend=False,
                textangle=0,
                insidetextfont={"color": "@ink", "size": 12},
            )
        )
    target = 8 * d_model**2
    layout = theme.base_layout(
        height,
        barmode="stack",
        xaxis=kit.axis("parameters", [0, 12.4 * d_model**2], fixed=True, tickformat=".2s"),
        yaxis=kit.axis(fixed=True, autorange="reversed"),
        shapes=[kit.upright(target, "@accent", width=1.5, dash="dot", below=False)],
        annotations=[kit.note(f"8 d² = {target:,}", target, 1, "@accent", paper="y", yanchor="bottom")],
        margin={"t": 30},
    )
    return theme.build(data, layout)


def block_shares_figure(blocks: Mapping[str, BlockShare], chosen: str, height: int) -> go.Figure:
    """One bar a model, cut into the parts of one of its blocks; a line at two thirds.

    Args:
        blocks: name -> counts, from the top down.
        chosen: the one looked at, in bold.
    """
    parts = (
        ("feed_forward", "feed-forward", "@feedforward"),
        ("attention", "attention", "@attention"),
        ("norms", "norms", "@norm"),
    )
    names = [f"<b>{name}</b>" if name == chosen else name for name in blocks]
    data = [
        kit.bars(
            [getattr(block, part) / block.total for block in blocks.values()],
            names,
            colour,
            name=label,
            marker={"opacity": [1 if name == chosen else 0.35 for name in blocks]},
            hover=f"%{{y}}: {label} %{{x:.1%}}, %{{customdata:,}} parameters",
            orientation="h",
            customdata=[getattr(block, part) for block in blocks.values()],
            text=[f"{block.share:.1%}" if part == "feed_forward" else "" for block in blocks.values()],
            textposition="inside",
            insidetextanchor="start",
            insidetextfont={"color": ["@paper" if name == chosen else "@ink" for name in blocks], "size": 12},
        )
        for part, label, colour in parts
    ]
    layout = theme.base_layout(
        height,
        barmode="stack",
        xaxis=kit.axis("share of one block's parameters", [0, 1], fixed=True, tickformat=".0%"),
        yaxis=kit.axis(fixed=True, autorange="reversed"),
        shapes=[kit.upright(2 / 3, "@ink", width=1.5, dash="dot", below=False)],
        annotations=[kit.note("two thirds", 2 / 3, 1, "@ink", paper="y", yanchor="bottom")],
        legend={"y": 1.06},
        margin={"t": 60},
    )
    return theme.build(data, layout)
