"""Estimates of effects against exact ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme


def estimate_scatter(
    estimate: Float[ndarray, " part"],
    exact: Float[ndarray, " part"],
    names: Sequence[str],
    is_head: Sequence[bool],
    end: float,
    unit: str,
    height: int,
) -> go.Figure:
    """Estimated against exact effects, one point a part; on the diagonal they agree.

    Args:
        end: where both axes end; points beyond lie on the border, as triangles.
    """
    border = 1.1 * end
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [-border, border],
            "y": [-border, border],
            "line": {"color": "@muted", "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
            "name": "estimate = exact",
        }
    ]
    for name, role, wanted in (("head", "@attention", True), ("feed-forward layer", "@feedforward", False)):
        kept = [i for i, one in enumerate(is_head) if one == wanted]
        if not kept:
            continue
        x, y = exact[kept], estimate[kept]
        far = (np.abs(x) > border) | (np.abs(y) > border)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": x.clip(-border, border).astype(np.float32),
                "y": y.clip(-border, border).astype(np.float32),
                "text": [names[i] for i in kept],
                "customdata": np.stack([x, y], 1).round(3).tolist(),
                "marker": {
                    "color": role,
                    "size": [9 if one else 6 for one in far.tolist()],
                    "symbol": ["triangle-up" if one else "circle" for one in far.tolist()],
                },
                "cliponaxis": False,
                "hovertemplate": "%{text}: exact %{customdata[0]:+.2f}, estimate %{customdata[1]:+.2f}<extra></extra>",
            }
        )
    axis = {"range": [-border, border], "fixedrange": True, "zeroline": True, "zerolinecolor": "@grid"}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": f"exact effect ({unit})"},
        yaxis={**axis, "title": f"estimate ({unit})"},
        legend={"y": 1.06},
        margin={"t": 40, "r": 14},
    )
    return theme.build(traces, layout)


def rows_height(n_rows: int) -> int:
    """Of a figure with a row for each part: with more rows they are lower."""
    return 120 + min(34 * n_rows, max(620, 9 * n_rows))
