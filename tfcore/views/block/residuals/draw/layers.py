"""The figure of deep networks layer by layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from tfcore.charts import theme
from tfcore.charts.depth_curves import Line, curve, decades, log_axis
from tfcore.charts.panels import column_domain, heading


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
        scale = {"range": [-0.12, 1.05], "nticks": 4} if title == "likeness" else log_axis("", low, high, 5)
        bottom = (len(rows) - 1 - row) * share
        for column, (name, lines) in enumerate(columns.items()):
            number = str(row * n + column + 1) if row or column else ""
            domain, last = column_domain(column, n, 0.03), float(lines[row].x[-1])
            data.append({**curve(lines[row]), "xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False})
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
