"""Figures of the feed-forward layer: activation functions, a gated unit, matrices to scale, shares of a block."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.config import Activation
from tfcore.figures import theme
from tfcore.measures.block_parameters import BlockShare, LayerCost
from tfcore.views.block.feedforward.measure.activation_functions import (
    ACTIVATION_NAMES,
    CURVE_LIMIT,
    PLAIN_ACTIVATIONS,
    ActivationCurves,
    LayerInputs,
)
from tfcore.views.block.feedforward.measure.layers import GatedUnit

CURVE_DASHES = ("dot", "solid", "dash", "longdashdot")


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
            {
                "type": "scatter",
                "mode": "lines",
                "name": ACTIVATION_NAMES[PLAIN_ACTIVATIONS[i]],
                "x": result.x.astype(np.float32),
                "y": rows[i].astype(np.float32),
                "opacity": 1 if strong else 0.55,
                "line": {
                    "color": "@feedforward" if strong else "@muted",
                    "width": 3.5 if strong else 1.5,
                    "dash": "solid" if strong else CURVE_DASHES[i],
                },
                "hovertemplate": "%{x:.2f}: %{y:.4f}<extra>" + ACTIVATION_NAMES[PLAIN_ACTIVATIONS[i]] + "</extra>",
            }
        )
    at = float(np.interp(x, result.x, rows[chosen]))
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
        xaxis={"title": "input x", "range": [-CURVE_LIMIT, CURVE_LIMIT], "fixedrange": True},
        yaxis={
            "title": "slope f′(x)" if slope else "f(x)",
            "range": [-0.25, 1.25] if slope else [-0.6, CURVE_LIMIT],
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": "@grid",
        },
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
    bars = {
        "type": "bar",
        "x": middle.astype(np.float32),
        "y": result.share.astype(np.float32),
        "width": 2 * CURVE_LIMIT / bins,
        "marker": {"color": "@feedforward", "opacity": 0.8},
        "hovertemplate": "near %{x:.2f}: %{y:.2%}<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "input x", "range": [-CURVE_LIMIT, CURVE_LIMIT], "fixedrange": True},
        yaxis={"title": "share", "tickformat": ".0%", "fixedrange": True},
        margin={"t": 12},
        bargap=0.05,
        shapes=[_line("x", x, "@accent"), _line("x", 0.0, "@muted")],
    )
    return theme.build([bars], layout)


def _line(axis: str, value: float, colour: str) -> dict[str, Any]:
    """A dotted line at one value of an axis, from edge to edge."""
    other = "y" if axis == "x" else "x"
    return {
        "type": "line",
        f"{axis}0": value,
        f"{axis}1": value,
        f"{other}0": 0,
        f"{other}1": 1,
        f"{other}ref": "paper",
        "line": {"color": colour, "width": 1.5, "dash": "dot"},
    }


def unit_figure(result: GatedUnit, up: float, height: int) -> go.Figure:
    """A gated unit over both of its inputs, with a line at the value looked at."""
    surface = {
        "type": "heatmap",
        "x": result.gate,
        "y": result.up,
        "z": result.gated.astype(np.float32),
        "zmin": -8,
        "zmax": 8,
        "colorscale": "@signed",
        "hovertemplate": "gate %{x:.1f}, up %{y:.1f}: %{z:.2f}<extra></extra>",
        "colorbar": {"thickness": 10, "len": 1, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "gate: W_gate x", "fixedrange": True, "showgrid": False},
        yaxis={"title": "up: W_up x", "fixedrange": True, "showgrid": False},
        shapes=[_line("y", up, "@accent")],
        margin={"t": 12},
    )
    return theme.build([surface], layout)


def slice_figure(result: GatedUnit, up: float, height: int) -> go.Figure:
    """The same unit along that line, and a plain unit, which has no second input."""
    scaled = np.interp(up, result.up, np.arange(len(result.up)))
    low = int(scaled)
    part = scaled - low
    row = result.gated[low] * (1 - part) + result.gated[min(low + 1, len(result.up) - 1)] * part
    pairs = ((result.plain, "plain: act(gate)", "@muted", "dash"), (row, f"gated: × {up:g}", "@feedforward", "solid"))
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": result.gate,
            "y": y.astype(np.float32),
            "line": {"color": colour, "width": 3, "dash": dash},
            "hovertemplate": "%{x:.2f}: %{y:.3f}<extra></extra>",
        }
        for y, name, colour, dash in pairs
    ]
    layout = theme.base_layout(
        height,
        xaxis={"title": "gate: W_gate x", "fixedrange": True},
        yaxis={
            "title": "output of the unit",
            "range": [-8.5, 8.5],
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": "@grid",
        },
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
            {
                "type": "bar",
                "orientation": "h",
                "y": names,
                "x": sizes,
                "text": words,
                "textposition": "inside",
                "insidetextanchor": "middle",
                "name": f"W_{part}",
                "showlegend": False,
                "textangle": 0,
                "insidetextfont": {"color": "@ink", "size": 12},
                "marker": {"color": f"@feedforward/{(0.55, 0.3, 0.8)[i]}", "line": {"color": "@paper", "width": 2}},
                "hovertemplate": f"W_{part}: %{{x:,}} parameters<extra></extra>",
            }
        )
    target = 8 * d_model**2
    layout = theme.base_layout(
        height,
        barmode="stack",
        xaxis={"title": "parameters", "fixedrange": True, "range": [0, 12.4 * d_model**2], "tickformat": ".2s"},
        yaxis={"autorange": "reversed", "fixedrange": True},
        shapes=[_line("x", target, "@accent")],
        annotations=[
            {
                "x": target,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "text": f"8 d² = {target:,}",
                "font": {"size": 12, "color": "@accent"},
            }
        ],
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
        {
            "type": "bar",
            "orientation": "h",
            "name": label,
            "y": names,
            "x": [getattr(block, part) / block.total for block in blocks.values()],
            "customdata": [getattr(block, part) for block in blocks.values()],
            "text": [f"{block.share:.1%}" if part == "feed_forward" else "" for block in blocks.values()],
            "textposition": "inside",
            "insidetextanchor": "start",
            "insidetextfont": {"color": ["@paper" if name == chosen else "@ink" for name in blocks], "size": 12},
            "marker": {"color": colour, "opacity": [1 if name == chosen else 0.35 for name in blocks]},
            "hovertemplate": f"%{{y}}: {label} %{{x:.1%}}, %{{customdata:,}} parameters<extra></extra>",
        }
        for part, label, colour in parts
    ]
    layout = theme.base_layout(
        height,
        barmode="stack",
        xaxis={"range": [0, 1], "tickformat": ".0%", "fixedrange": True, "title": "share of one block's parameters"},
        yaxis={"autorange": "reversed", "fixedrange": True},
        shapes=[_line("x", 2 / 3, "@ink")],
        annotations=[
            {
                "x": 2 / 3,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "text": "two thirds",
                "font": {"size": 12, "color": "@ink"},
            }
        ],
        legend={"y": 1.06},
        margin={"t": 60},
    )
    return theme.build(data, layout)
