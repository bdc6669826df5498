"""Figures of the experiments with random queries and keys: what is measured as marks, what theory says as lines."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.measures.product_spread import ProductSpread
from tfcore.views.foundations.attention.measure.scale import GradientTheory, Saturation

WITHOUT = "q · k"
WITH = "q · k ÷ √d<sub>k</sub>"
COLOURS = ("@cat1", "@cat0")  # without and with the division
SYMBOLS = ("diamond", "circle")  # without and with the division
WIDEST = 100.0  # where the axis of q . k ends: 3 standard deviations at d_k = 1024


def products_figure(result: ProductSpread, at: int, *, scaled: bool, height: int = 280) -> go.Figure:
    """Histogram of q . k for one width, and the normal curve of the same variance over it.

    Heights are shares of the normal curve's peak, so that both axes stay as they are while d_k changes.

    Args:
        at: which of the widths.
        scaled: of q . k / sqrt(d_k), on an axis of its own.
    """
    width = int(result.widths[at])
    unit = 1.0 if scaled else math.sqrt(width)
    middle = (result.edges[1:] + result.edges[:-1]) / 2
    x = np.linspace(-5, 5, 201)
    name = WITH if scaled else WITHOUT
    colour = COLOURS[scaled]
    bars = kit.bars(
        (middle * unit).astype(np.float32),
        (result.density[at] * math.sqrt(2 * math.pi)).astype(np.float32),
        f"{colour}/0.55",
        name=f"{name}, drawn",
        marker={"line": {"width": 0}},
        hover="%{x:.2f}: %{y:.2f} of the peak",
        width=float(middle[1] - middle[0]) * unit,
    )
    variance = f"variance {1 if scaled else width:,}"
    curve = kit.line(
        (x * unit).astype(np.float32),
        np.exp(-(x**2) / 2).astype(np.float32),
        "@ink",
        name=f"normal, {variance}",
        width=2,
        hover=False,
    )
    end = 5.0 if scaled else WIDEST
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(name, [-end, end]),
        bargap=0,
        yaxis=kit.axis("density ÷ peak", [0, 2], grid=False),
        margin={"t": 40},
    )
    return theme.build([bars, curve], layout)


def variance_figure(result: ProductSpread, at: int, height: int = 300) -> go.Figure:
    """Measured variance against d_k, before and after the division, over the lines that theory draws."""
    widths = result.widths.astype(np.float32)
    data = [
        _theory(widths, theory, name)
        for theory, name in ((widths, "theory: d<sub>k</sub>"), (np.ones_like(widths), "theory: 1"))
    ]
    for row, values in enumerate((result.variance, result.variance / result.widths)):
        data.append(_measured(widths, values, row, at, "variance %{y:.2f} at d<sub>k</sub> = %{x:,}"))
    layout = theme.base_layout(
        height, xaxis=_widths(), margin={"t": 56}, yaxis=kit.axis("variance", [-0.5, 3.4], log=True, dtick=1)
    )
    return theme.build(data, layout)


def entropy_figure(result: Saturation, at: int, height: int = 300) -> go.Figure:
    """Mean entropy of the weights against d_k, with and without the division."""
    top = math.log2(result.n_keys)
    lines = [(top, "bottom", f"equal weights: log₂ {result.n_keys} = {top:.2f}")]
    many = top - 0.5 / math.log(2)
    if many > 0:
        lines.append((many, "top", f"theory for many keys: {many:.2f}"))
    return _saturation(result.entropy, result, at, "entropy of the weights (bits)", [0.0, 1.18 * top], lines, height)


def largest_figure(result: Saturation, at: int, height: int = 300) -> go.Figure:
    """Mean largest weight against d_k, with and without the division."""
    equal = 1 / result.n_keys
    lines = [(equal, "bottom", f"equal weights: 1/{result.n_keys}")]
    return _saturation(result.largest, result, at, "largest weight", [0.0, 1.12], lines, height)


def _saturation(
    values: Float[ndarray, "2 width query"],
    result: Saturation,
    at: int,
    title: str,
    span: list[float],
    lines: list[tuple[float, str, str]],
    height: int,
) -> go.Figure:
    """The mean over all queries as marks, the middle 80 % of them as a band, constants of the theory as lines."""
    widths = result.widths.astype(np.float32)
    data: list[dict[str, Any]] = []
    for row in (0, 1):
        low, high = np.quantile(values[row], (0.1, 0.9), axis=-1)
        data.append(
            kit.line(
                np.concatenate((widths, widths[::-1])),
                np.concatenate((high, low[::-1])).astype(np.float32),
                width=0,
                hover=False,
                fill="toself",
                fillcolor=f"{COLOURS[row]}/0.14",
                showlegend=False,
            )
        )
    hover = title + " %{y:.2f} at d<sub>k</sub> = %{x:,}"
    data += [_measured(widths, values[row].mean(-1), row, at, hover) for row in (0, 1)]
    notes = [kit.note(text, 0.99, y, paper="x", xanchor="right", yanchor=side) for y, side, text in lines]
    shapes = [kit.across(y, width=1.5, dash="dash") for y, *_ in lines]
    layout = theme.base_layout(
        height, xaxis=_widths(), yaxis=kit.axis(title, span), annotations=notes, shapes=shapes, margin={"t": 40}
    )
    return theme.build(data, layout)


def curve_figure(result: Saturation, at: int, height: int = 320) -> go.Figure:
    """Each query as a mark: its largest weight and the largest entry of its gradient, on the curve p (1 - p)."""
    p = np.linspace(0, 1, 101)
    data = [_theory(p, p * (1 - p), "theory: p (1 − p)")]
    for row in (0, 1):
        name = (WITHOUT, WITH)[row]
        data.append(
            kit.dots(
                result.largest[row, at],
                result.steepest[row, at],
                COLOURS[row],
                name=name,
                symbol=SYMBOLS[row] + "-open",
                size=8,
                hover="largest weight %{x:.3f}: steepest slope %{y:.4f}",
            )
        )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("largest weight p of a query", [-0.02, 1.02]),
        margin={"t": 56},
        yaxis=kit.axis("largest ∂weight ∕ ∂score", [-0.01, 0.28]),
    )
    return theme.build(data, layout)


def gradient_figure(result: Saturation, theory: GradientTheory, at: int, height: int = 320) -> go.Figure:
    """Mean norm of the softmax's gradient against d_k: it falls like 1 / sqrt(d_k), or stays."""
    widths, s = result.widths.astype(np.float32), theory.deviations
    slope = theory.slope / s
    data = [
        _theory(widths[[0, -1]], np.full(2, theory.flat), "", "dash") | {"showlegend": False},
        _theory(s**2, np.where(slope < 1.5, slope, np.nan), "", "dot") | {"showlegend": False},
    ]
    far = 16.0  # where the note on the falling line stands: sqrt(256)
    notes = [
        {"x": 0, "y": math.log10(theory.flat), "text": f"all weights equal: {theory.flat:.3f}", "xanchor": "left"},
        {
            "x": math.log10(far**2),
            "y": math.log10(theory.slope / far),
            "xanchor": "right",
            "text": f"one winner: {theory.slope:.3f} ÷ √d<sub>k</sub>",
        },
    ]
    notes = [
        {**note, "yanchor": "top", "yshift": -6, "showarrow": False, "font": {"size": 12, "color": "@muted"}}
        for note in notes
    ]
    if result.n_keys == 2:
        data.append(_theory(s**2, theory.two, "theory: 2p (1 − p)"))
    for row in (0, 1):
        norm = result.gradient[row].mean(-1)
        data.append(_measured(widths, norm, row, at, "norm %{y:.4f} at d<sub>k</sub> = %{x:,}"))
    layout = theme.base_layout(
        height,
        xaxis=_widths(),
        margin={"t": 40},
        annotations=notes,
        yaxis=kit.axis(
            "norm of ∂weights ∕ ∂scores",
            [-2.4, 0.1],
            log=True,
            tickvals=[0.01, 0.03, 0.1, 0.3, 1],
            ticktext=["0.01", "0.03", "0.1", "0.3", "1"],
        ),
    )
    return theme.build(data, layout)


def _widths() -> dict[str, Any]:
    """The axis of d_k: one, two, four ... 1,024."""
    ticks = [1, 4, 16, 64, 256, 1024]
    return kit.axis(
        "d<sub>k</sub>",
        [-0.12, math.log10(1024) + 0.12],
        log=True,
        tickvals=ticks,
        ticktext=[f"{tick:,}" for tick in ticks],
    )


def _theory(x: ndarray, y: ndarray, name: str, dash: str = "solid") -> dict[str, Any]:
    return kit.line(x.astype(np.float32), y.astype(np.float32), "@ink", name=name, width=1.5, dash=dash, hover=False)


def _measured(x: ndarray, y: ndarray, row: int, at: int, hover: str) -> dict[str, Any]:
    """Marks of what was drawn, the chosen width larger."""
    sizes = [14 if i == at else 8 for i in range(len(x))]
    return kit.dots(
        x,
        y.astype(np.float32),
        COLOURS[row],
        name=(WITHOUT, WITH)[row],
        symbol=SYMBOLS[row],
        size=sizes,
        marker={"opacity": 0.9},
        hover=hover,
    )
