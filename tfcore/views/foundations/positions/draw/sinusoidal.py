"""Figures of position vectors: the sinusoidal table, its waves and its shifts."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import heatmap, hundredths, square_axes
from tfcore.views.foundations.positions.measure.sinusoidal import Shift, ShiftedProducts, SinusoidalTable

CELLS = 131_072  # cells of a heatmap that still travel quickly, one byte each
BLOCKS = 32  # rows and columns of M_k that are shown: 16 of its 2x2 blocks
COLOURS = ("@cat1", "@cat0")  # of the two chosen pairs of dimensions


def table_figure(result: SinusoidalTable, pairs: Sequence[int], height: int) -> go.Figure:
    """Position by dimension, with the chosen pairs of dimensions framed."""
    seq, d_model = result.table.shape
    step = math.ceil(seq * d_model / CELLS)  # every step-th position only, when there are too many
    trace = heatmap(hundredths(result.table[::step]), "@signed", -100, 100, "PE(%{y}, %{x}) = %{z}/100", dy=step)
    trace["colorbar"] |= {"tickvals": [-100, 0, 100], "ticktext": ["−1", "0", "1"]}
    frames = [kit.box(2 * pair - 0.5, 2 * pair + 1.5, -0.5, seq - 0.5, edge="@ink", width=1.5) for pair in pairs]
    pointers = [
        kit.note("▼", 2 * pair + 0.5, 1, colour, size=14, paper="y", yanchor="bottom")
        for pair, colour in zip(pairs, COLOURS, strict=True)
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("dimension", [-0.5, d_model - 0.5], grid=False),
        yaxis=kit.axis("position", [seq - 0.5, -0.5], grid=False),
        shapes=frames,
        annotations=pointers,
        margin={"t": 24},
    )
    return theme.build([trace], layout)


def pair_curves_figure(result: SinusoidalTable, pairs: Sequence[int], height: int) -> go.Figure:
    """The dimensions of the chosen pairs as waves over the positions: sine solid, cosine dotted."""
    positions = np.arange(len(result.table), dtype=np.float32)
    traces = [
        kit.line(
            positions,
            np.ascontiguousarray(result.table[:, d]),
            colour,
            name=f"{wave}, dim {d}",
            width=2 if wave == "sin" else 1.5,
            dash=dash,
            hover=f"PE(%{{x}}, {d}) = %{{y:.3f}}",
        )
        for pair, colour in zip(dict.fromkeys(pairs), COLOURS, strict=False)
        for d, wave, dash in ((2 * pair, "sin", "solid"), (2 * pair + 1, "cos", "dot"))
    ]
    layout = theme.base_layout(
        height, xaxis=kit.axis("position", [0, len(positions) - 1]), yaxis=kit.axis("value", [-1.08, 1.08])
    )
    return theme.build(traces, layout)


def wavelengths_figure(
    wavelengths: Float[ndarray, " pair"], base: float, marked: Sequence[int], height: int
) -> go.Figure:
    """Positions per full turn of every pair, between 2 pi and base * 2 pi."""
    n = len(wavelengths)
    trace = kit.line(
        np.arange(n),
        wavelengths.astype(np.float32),
        "@position",
        name="",
        hover="pair %{x} repeats after %{y:,.1f} positions",
        marks={"size": 4, "color": "@position"},
    )
    dots = kit.dots(
        list(marked), [float(wavelengths[i]) for i in marked], list(COLOURS[: len(marked)]), size=11, hover=False
    )
    longest = base * 2 * math.pi
    ends = (
        (2 * math.pi, "2π = 6.28", "top", 0.99, "right"),
        (longest, f"{base:,.0f} · 2π = {longest:,.0f}", "bottom", 0.01, "left"),
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("pair of dimensions", [-0.5, n - 0.5]),
        yaxis=kit.axis("wavelength (positions)", [0.3, math.log10(longest) + 0.5], log=True, dtick=1),
        showlegend=False,
        margin={"t": 8},
        shapes=[kit.across(y, width=1, dash="dash", below=False) for y, *_ in ends],
        annotations=[
            kit.note(text, x, math.log10(y), paper="x", xanchor=side, yanchor=anchor)
            for y, text, anchor, x, side in ends
        ],
    )
    return theme.build([trace, dots], layout)


def products_figure(result: ShiftedProducts, k: int, start: int, height: int) -> go.Figure:
    """PE(p) . PE(p + k) by offset: a line from p = 0, and dots from another p that lie on it."""
    n = result.products.shape[1]
    offsets, every = np.arange(n), max(1, n // 64)
    half = float(result.products[0, 0])  # d/2, the length of every position vector squared
    traces = [
        kit.line(offsets, result.products[0], "@position", name="p = 0", hover="from p = 0, k = %{x}: %{y:.3f}"),
        kit.dots(
            offsets[::every],
            np.ascontiguousarray(result.products[1, ::every]),
            "@cat1",
            name=f"p = {start}",
            size=6,
            hover=f"from p = {start}, k = %{{x}}: %{{y:.3f}}",
        ),
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("offset k", [-0.5, n - 0.5]),
        yaxis=kit.axis("PE(p) · PE(p + k)", [-0.45 * half, 1.08 * half]),
        shapes=[kit.upright(k, width=1, dash="dash", below=False)] if k < n else [],
    )
    return theme.build(traces, layout)


def shift_figure(result: Shift, height: int) -> go.Figure:
    """The first rows and columns of M_k."""
    corner = np.ascontiguousarray(result.matrix[:BLOCKS, :BLOCKS])
    trace = heatmap(corner, "@signed", -1, 1, "M[%{y}, %{x}] = %{z:.3f}")
    layout = theme.base_layout(
        height, **square_axes(len(corner), "dimension of PE(p)", "dimension of PE(p + k)"), margin={"t": 8}
    )
    return theme.build([trace], layout)
