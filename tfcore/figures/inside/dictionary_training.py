"""A sparse dictionary in training: its measures by step, and how like the shipped features its own are."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.figures import theme
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.dictionaries.quality import Quality

BINS = 25  # of cosines, from 0 to 1
MEASURES: tuple[tuple[str, str, str, Callable[[Quality], float]], ...] = (
    ("loss recovered", "@feedforward", "circle", lambda quality: quality.loss_recovered),
    ("explained variance", "@residual", "square", lambda quality: quality.explained_variance),
)


def quality_figure(moments: Sequence[DictionaryMoment], steps: int, height: int) -> go.Figure:
    """Loss recovered and explained variance above, features that never fire below, over the steps of training.

    Args:
        steps: of the whole training, so that the axis stays while curves grow.
        height: in pixels.
    """
    x = [one.step for one in moments]
    data: list[dict[str, Any]] = []
    for name, colour, symbol, of in MEASURES:
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": x,
                "y": [of(one.quality) for one in moments],
                "line": {"color": colour, "width": 2.2},
                "marker": {"size": 6, "symbol": symbol},
                "hovertemplate": "step %{x}: %{y:.1%}<extra>" + name + "</extra>",
            }
        )
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{name}, shipped",
                "x": [0, steps],
                "y": [of(moments[-1].shipped)] * 2,
                "line": {"color": colour, "width": 1.6, "dash": "dash"},
                "hovertemplate": "%{y:.1%}<extra>" + name + ", shipped</extra>",
            }
        )
    dead = [one.quality.dead for one in moments]
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "features that never fire",
            "x": x,
            "y": dead,
            "yaxis": "y2",
            "line": {"color": "@muted", "width": 2},
            "marker": {"size": 5, "symbol": "diamond"},
            "hovertemplate": "step %{x}: %{y}<extra>features that never fire</extra>",
        }
    )
    layout = theme.base_layout(
        height,
        xaxis={"title": "training step", "range": [-0.02 * steps, 1.02 * steps], "fixedrange": True, "anchor": "y2"},
        yaxis={"title": "share", "tickformat": ".0%", "range": [0, 1.03], "domain": [0.36, 1], "fixedrange": True},
        yaxis2={
            "title": "never fire",
            "range": [0, max(10, 1.2 * max(dead))],
            "nticks": 4,
            "domain": [0, 0.26],
            "fixedrange": True,
        },
        margin={"t": 84},
        legend={"y": 1.03},
    )
    return theme.build(data, layout)


def cosine_figure(moments: Sequence[DictionaryMoment], height: int) -> go.Figure:
    """Features by their cosine with the closest shipped one: now, and as an outline before the first step.

    Args:
        height: in pixels.
    """
    edges = np.linspace(0, 1, BINS + 1)
    counts = [np.histogram(np.clip(one.cosine, 0, 1), edges)[0] for one in (moments[-1], moments[0])]
    middle, last = (edges[:-1] + edges[1:]) / 2, moments[-1].step
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": f"step {last}",
            "x": middle,
            "y": counts[0],
            "width": 1 / BINS,
            "marker": {"color": "@feedforward/0.6", "line": {"color": "@paper", "width": 1}},
            "customdata": np.stack((edges[:-1], edges[1:]), axis=1),
            "hovertemplate": "cosine %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y} features<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "step 0",
            "x": middle,
            "y": counts[1],
            "line": {"color": "@muted", "width": 2, "shape": "hvh"},
            "hovertemplate": "%{y} features<extra>step 0</extra>",
        },
    ]
    layout = theme.base_layout(
        height,
        xaxis={"title": "cosine with the closest shipped feature", "range": [0, 1], "fixedrange": True},
        yaxis={"title": "features", "rangemode": "tozero", "fixedrange": True},
        margin={"t": 44},
        legend={"y": 1.05},
        bargap=0,
    )
    return theme.build(data, layout)
