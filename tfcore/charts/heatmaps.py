"""Parts of heatmaps: a trace with a fixed range, square cells, several side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy import ndarray

from tfcore.charts import kit, theme

Panel = tuple[dict[str, Any], str, str, dict[str, Any], int]


def heatmap(z: ndarray, scale: str, low: int | float, high: int | float, hover: str, **more: Any) -> dict[str, Any]:
    """A heatmap trace with a fixed range; `more` are further properties of the trace."""
    return kit.cells(z, scale, low, high, hover=hover, colorbar=kit.colour_bar(), **more)


def square_axes(n: int, columns: str, rows: str) -> dict[str, Any]:
    """The axes of a map of n x n square cells, the first row on top."""
    x = {"title": columns, "showgrid": False, "range": [-0.5, n - 0.5], "constrain": "domain"}
    y = {"title": rows, "showgrid": False, "range": [n - 0.5, -0.5], "scaleanchor": "x", "constrain": "domain"}
    return {"xaxis": x, "yaxis": y}


def hundredths(values: ndarray) -> ndarray:
    """Values from -1 to 1 as whole hundredths, one byte each."""
    return np.round(100 * values).astype(np.int8)


def full_colour(*values: ndarray, percentile: float = 99.0) -> float:
    """The size at which colours are full: few numbers of some of the arrays are larger, and have the same colour, as
    they would dim all others. It is the largest size where most are 0, and 1 where all are."""
    sizes = [np.abs(one) for one in values]
    return max(float(np.percentile(one, percentile)) for one in sizes) or max(float(one.max()) for one in sizes) or 1.0


def side_by_side(panels: Sequence[Panel], rows: int, height: int) -> go.Figure:
    """Heatmaps in a row, each (trace, heading, x title, y axis, columns), with their colour bars under them."""
    width = (1 - 0.09 * (len(panels) - 1)) / len(panels)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    headings = []
    for i, (trace, heading, x, y, columns) in enumerate(panels):
        number = str(i + 1) if i else ""
        left = round(i * (width + 0.09), 4)
        trace["colorbar"] |= {
            "orientation": "h",
            "x": left + width / 2,
            "len": width,
            "y": 0,
            "yanchor": "top",
            "ypad": 46,
            "nticks": 5,
            "lenmode": "fraction",
        }
        traces.append({**trace, "xaxis": f"x{number}", "yaxis": f"y{number}"})
        right = round(left + width, 4)
        axes[f"xaxis{number}"] = {
            "title": x,
            "domain": [left, right],
            "anchor": f"y{number}",
            "showgrid": False,
            "range": [-0.5, columns - 0.5],
        }
        axes[f"yaxis{number}"] = {"anchor": f"x{number}", "showgrid": False, "range": [rows - 0.5, -0.5], **y}
        headings.append(kit.note(heading, left, 1, "@ink", size=13, paper="xy", xanchor="left", yanchor="bottom"))
    return theme.build(traces, theme.base_layout(height, margin={"b": 44, "t": 26}, annotations=headings, **axes))
