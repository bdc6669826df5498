"""Curves over the layers and the depths of networks, on logarithmic axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped
from numpy import ndarray

from tfcore.charts import theme

WIRING_COLOURS = {
    "pre-LN": "@cat0",
    "post-LN": "@cat1",
    "sandwich": "@cat2",
    "no norm": "@cat3",
    "no skip": "@cat4",
    "no skip, no norm": "@cat6",
}
START_COLOURS = {"std 1": "@cat1", "Xavier": "@cat0", "std 0.02": "@cat2", "GPT-2: 0.02, outputs / √(2N)": "@cat3"}
SMALLEST_DRAWN = 1e-60  # what is smaller is not drawn: an exact zero has no logarithm
# What a number format can hold, for the dashed lines: (value, words).
SMALLEST_NUMBERS = ((1.2e-38, "float32 ends here"), (6.0e-8, "fp16 ends here"))
LARGEST_NUMBERS = ((3.4e38, "float32 ends here"), (65_504.0, "fp16 ends here"))


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: how it is called, its colour role, its dash, and its points."""

    name: str
    colour: str
    x: Shaped[ndarray, " point"]
    y: Float[ndarray, " point"]
    dash: str = "solid"


def depth_figure(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    height: int,
    log_x: bool = False,
    limits: Sequence[tuple[float, str]] = (),
) -> go.Figure:
    """Curves over layers or depths on a logarithmic axis, whose ends are whole powers of ten.

    Args:
        lines: the curves; points at zero or beyond all measure are left out.
        log_x: the horizontal axis is logarithmic, too, with the powers of two written.
        limits: dashed lines across, (value, words), where they are within the picture.
    """
    low, high = decades([line.y for line in lines])
    last = float(max(line.x[-1] for line in lines))
    x_axis: dict[str, Any] = {"title": x_title, "range": [-0.02 * last, 1.02 * last]}
    if log_x:
        powers = [2**i for i in range(int(math.log2(max(last, 1))) + 1)]
        x_axis |= {"type": "log", "tickvals": powers, "range": [-0.05, math.log10(max(last, 2)) + 0.05]}
    shapes, notes = [], []
    for value, words in limits:
        if low < math.log10(value) < high:
            shapes.append({**rule(), "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value})
            notes.append(
                {
                    "xref": "paper",
                    "x": 0.01,
                    "xanchor": "left",
                    "y": math.log10(value),
                    "yanchor": "bottom",
                    "text": words,
                    "showarrow": False,
                    "font": {"size": 12, "color": "@muted"},
                }
            )
    layout = theme.base_layout(
        height,
        xaxis=x_axis,
        yaxis=log_axis(y_title, low, high),
        shapes=shapes,
        annotations=notes,
        margin={"t": 64, "l": 64},
    )
    return theme.build([curve(line) for line in lines], layout)


def decades(values: Sequence[ndarray]) -> tuple[int, int]:
    """The whole powers of ten around all values that can be drawn, at least two of them."""
    every = np.concatenate([v[np.isfinite(v) & (v > SMALLEST_DRAWN)] for v in values])
    if not len(every):
        return -1, 1
    low, high = math.floor(math.log10(every.min())), math.ceil(math.log10(every.max()))
    return (low, high) if high - low >= 2 else (low - 1, low + 1) if high == low else (low - 1, high)


def log_axis(title: str, low: int, high: int, most: int = 7) -> dict[str, Any]:
    """A logarithmic axis with at most about `most` powers of ten written, the highest always."""
    every = max(1, -(-(high - low) // most))
    powers = list(range(high, low - 1, -every))
    return {
        "type": "log",
        "range": [low, high + 0.03 * (high - low)],
        "title": title,
        "tickvals": [10.0**p for p in powers],
        "ticktext": [f"10<sup>{str(p).replace('-', '−')}</sup>" if p else "1" for p in powers],
    }


def curve(line: Line, hover: str = "%{x}: %{y:.3g}") -> dict[str, Any]:
    """A trace, whose points at zero or beyond all measure are left out; with markers where there are few."""
    y = np.where(np.isfinite(line.y) & (line.y > SMALLEST_DRAWN), line.y, np.nan).astype(np.float64)
    few = len(y) <= 12
    return {
        "type": "scatter",
        "mode": "lines+markers" if few else "lines",
        "x": line.x,
        "y": y,
        "name": line.name,
        "line": {"color": line.colour, "width": 2.5, "dash": line.dash},
        "marker": {"size": 7, "color": line.colour},
        "hovertemplate": f"{hover}<extra>{line.name}</extra>",
    }


def rule() -> dict[str, Any]:
    """A dotted line, without its ends."""
    return {"type": "line", "layer": "below", "line": {"color": "@muted", "width": 1, "dash": "dot"}}
