"""The figure of the first steps of training."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import theme
from tfcore.charts.depth_curves import Line, curve, rule
from tfcore.charts.panels import column_domain, heading


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
                    **curve(line, "step %{x}: %{y:.2f} nats"),
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
            {**rule(), "xref": f"x{number}", "yref": f"y{number}", "x0": 0, "x1": steps, "y0": uniform, "y1": uniform}
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
