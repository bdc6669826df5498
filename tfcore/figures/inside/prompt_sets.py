"""Effects over a set of prompts: means as dots with their intervals, each prompt a pale dot behind them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.inside.prompt_means import Means
from tfcore.figures import theme

ROW = 32  # pixels


def dots_height(n_rows: int) -> int:
    """In pixels."""
    return 90 + ROW * n_rows


def interval_dots(
    means: Means,
    values: Float[ndarray, "prompt part"],
    names: Sequence[str],
    roles: Sequence[str],
    prompts: Sequence[str],
    axis: str,
    height: int,
) -> go.Figure:
    """A row for each part, the first on top; open dots are means whose interval includes 0.

    Args:
        means: of `values` over the prompts.
        names: of the parts.
        roles: of their colours, as in "@attention".
        prompts: in words, safe for plotly.
        axis: what the numbers are, with their unit.
        height: in pixels.
    """
    rows = np.arange(len(names))
    every = np.concatenate([means.low.ravel(), means.high.ravel(), values.ravel(), [0.0]])
    room = 0.04 * max(float(np.ptp(every)), 1e-3)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "prompt",
            "x": values.ravel().astype(np.float32),
            "y": np.tile(rows, len(values)),
            "customdata": [prompt for prompt in prompts for _ in names],
            "marker": {"color": "@muted", "size": 5, "opacity": 0.45},
            "hovertemplate": "%{customdata}: %{x:+.2f}<extra></extra>",
        }
    ]
    for role, kind in (("@attention", "head"), ("@feedforward", "feed-forward")):
        kept = [place for place, one in enumerate(roles) if one == role]
        if not kept:
            continue
        mean, low, high = (part[kept] for part in (means.mean, means.low, means.high))
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": kind,
                "x": mean.astype(np.float32),
                "y": rows[kept],
                "text": [names[place] for place in kept],
                "customdata": np.stack([low, high], 1).round(3).tolist(),
                "error_x": {
                    "type": "data",
                    "array": (high - mean).astype(np.float32),
                    "color": role,
                    "thickness": 2.5,
                    "width": 5,
                },
                "marker": {
                    "color": role,
                    "size": 10,
                    "symbol": ["circle-open" if one else "circle" for one in means.unsure[kept].tolist()],
                    "line": {"color": role, "width": 2},
                },
                "hovertemplate": "%{text}: %{x:+.2f} (%{customdata[0]:+.2f} to %{customdata[1]:+.2f})<extra></extra>",
            }
        )
    layout = theme.base_layout(
        height,
        xaxis={
            "title": axis,
            "range": [float(every.min()) - room, float(every.max()) + room],
            "zeroline": True,
            "zerolinecolor": "@ink",
            "fixedrange": True,
        },
        yaxis={
            "tickvals": rows.tolist(),
            "ticktext": list(names),
            "range": [len(names) - 0.4, -0.6],
            "fixedrange": True,
            "showgrid": False,
            "automargin": True,
        },
        legend={"traceorder": "normal", "y": 1.03},
        margin={"l": 110, "r": 12, "t": 36},
    )
    return theme.build(traces, layout)
