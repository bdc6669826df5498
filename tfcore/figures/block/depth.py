"""Figures of deep networks: gradients and activations by layer and by depth, and the first steps of training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.block.normalisation import column_domain, heading

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
    marked: int | None = None,
) -> go.Figure:
    """Curves over layers or depths on a logarithmic axis, whose ends are whole powers of ten.

    Args:
        lines: the curves; points at zero or beyond all measure are left out.
        log_x: the horizontal axis is logarithmic, too, with the powers of two written.
        limits: dashed lines across, (value, words), where they are within the picture.
        marked: an upright dotted line at this x.
    """
    low, high = decades([line.y for line in lines])
    last = float(max(line.x[-1] for line in lines))
    x_axis: dict[str, Any] = {"title": x_title, "range": [-0.02 * last, 1.02 * last]}
    if log_x:
        powers = [2**i for i in range(int(math.log2(max(last, 1))) + 1)]
        x_axis |= {"type": "log", "tickvals": powers, "range": [-0.05, math.log10(max(last, 2)) + 0.05]}
    shapes = [] if marked is None else [{**_rule(), "yref": "paper", "y0": 0, "y1": 1, "x0": marked, "x1": marked}]
    notes = []
    for value, words in limits:
        if low < math.log10(value) < high:
            shapes.append({**_rule(), "xref": "paper", "x0": 0, "x1": 1, "y0": value, "y1": value})
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
        yaxis=_log_axis(y_title, low, high),
        shapes=shapes,
        annotations=notes,
        margin={"t": 64, "l": 64},
    )
    return theme.build([_curve(line) for line in lines], layout)


def layers_figure(columns: Mapping[str, Sequence[Line]], rows: Sequence[str], height: int) -> go.Figure:
    """Small charts over the layers, side by side; those of a row have the same vertical axis.

    Args:
        columns: heading -> one line for each row.
        rows: title of the vertical axis; logarithmic but for "likeness", which is between 0 and 1.
        height: in pixels.
    """
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    n, share = len(columns), 1 / len(rows)
    for row, title in enumerate(rows):
        low, high = decades([lines[row].y for lines in columns.values()])
        scale = {"range": [-0.12, 1.05], "nticks": 4} if title == "likeness" else _log_axis("", low, high, 5)
        bottom = (len(rows) - 1 - row) * share
        for column, (name, lines) in enumerate(columns.items()):
            number = str(row * n + column + 1) if row or column else ""
            domain, last = column_domain(column, n, 0.03), float(lines[row].x[-1])
            data.append({**_curve(lines[row]), "xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False})
            foot = {"title": "layer"} if row == len(rows) - 1 else {"showticklabels": False}
            axes[f"xaxis{number}"] = {
                "domain": domain,
                "anchor": f"y{number}",
                "nticks": 5,
                **foot,
                "range": [-0.03 * last, 1.03 * last],
            }
            axes[f"yaxis{number}"] = {
                **scale,
                "title": title if column == 0 else "",
                "anchor": f"x{number}",
                "domain": [bottom + 0.02, bottom + share - 0.06],
                "showticklabels": column == 0,
            }
            if row == 0:
                notes.append(heading(domain[0], 0.95, name))
    layout = theme.base_layout(height, margin={"t": 8, "l": 64}, annotations=notes, **axes)
    return theme.build(data, layout)


def first_steps_figure(
    columns: Mapping[str, tuple[str, list[list[float]]]], steps: int, uniform: float, height: int
) -> go.Figure:
    """Loss over the first steps, a panel for each placement: solid with warm-up, dashed without.

    Args:
        columns: heading -> colour role, and [losses with warm-up, losses without], as many as there are so far.
        steps: of a whole run.
        uniform: the loss of a uniform guess, a dotted line.
        height: in pixels.
    """
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for i, (name, (colour, both)) in enumerate(columns.items()):
        number = str(i + 1) if i else ""
        domain = column_domain(i, len(columns), 0.03)
        for losses, dash, words in zip(both, ("solid", "dash"), ("with warm-up", "without"), strict=True):
            y = np.minimum(np.nan_to_num(np.asarray(losses, dtype=np.float32), nan=2 * uniform), 2 * uniform)
            line = Line(words, colour, np.arange(1, len(y) + 1), y, dash)
            data.append(
                {
                    **_curve(line, "step %{x}: %{y:.2f} nats"),
                    "xaxis": f"x{number}",
                    "yaxis": f"y{number}",
                    "showlegend": i == 0,
                    "legendgroup": dash,
                }
            )
        axes[f"xaxis{number}"] = {
            "domain": domain,
            "anchor": f"y{number}",
            "range": [0, steps],
            "title": "step",
            "type": "linear",
            "nticks": 5,
        }
        axes[f"yaxis{number}"] = {
            "anchor": f"x{number}",
            "range": [0, 1.35 * uniform],
            "showticklabels": i == 0,
            "title": "loss (nats)" if i == 0 else "",
        }
        notes.append(heading(domain[0], 1.0, name))
        shapes.append(
            {**_rule(), "xref": f"x{number}", "yref": f"y{number}", "x0": 0, "x1": steps, "y0": uniform, "y1": uniform}
        )
    note = {
        **heading(0.0, 0.0, "uniform", colour="@muted"),
        "xref": "x",
        "yref": "y",
        "x": steps,
        "xanchor": "right",
        "y": uniform,
    }
    layout = theme.base_layout(
        height, margin={"t": 58, "l": 52}, annotations=[*notes, note], shapes=shapes, legend={"y": 1.1}, **axes
    )
    return theme.build(data, layout)


def decades(values: Sequence[ndarray]) -> tuple[int, int]:
    """The whole powers of ten around all values that can be drawn, at least two of them."""
    every = np.concatenate([v[np.isfinite(v) & (v > SMALLEST_DRAWN)] for v in values])
    if not len(every):
        return -1, 1
    low, high = math.floor(math.log10(every.min())), math.ceil(math.log10(every.max()))
    return (low, high) if high - low >= 2 else (low - 1, low + 1) if high == low else (low - 1, high)


def _log_axis(title: str, low: int, high: int, most: int = 7) -> dict[str, Any]:
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


def _curve(line: Line, hover: str = "%{x}: %{y:.3g}") -> dict[str, Any]:
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


def _rule() -> dict[str, Any]:
    return {"type": "line", "layer": "below", "line": {"color": "@muted", "width": 1, "dash": "dot"}}
