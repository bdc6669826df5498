"""A number of every head, by layer."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme


def by_layer(
    values: Float[ndarray, "layer head"], layer: int, head: int, title: str, hover: str, top: float, height: int
) -> go.Figure:
    """A number of every head by layer, the mean of each layer as a line, one head ringed.

    Args:
        title: of the axis.
        hover: what is said of a head; %{y} is its number, %{customdata[0]} and %{customdata[1]} are its place.
        top: of the axis.
    """
    layers, heads = values.shape
    x = np.repeat(np.arange(layers), heads)
    places = np.stack((x, np.tile(np.arange(heads), layers)), axis=1)
    parts: list[dict[str, Any]] = [
        kit.line(np.arange(layers), values.mean(1), "@muted", width=2, hover=False, name="mean of the layer"),
        kit.dots(
            x, values.ravel(), "@attention", size=8, hover=hover, customdata=places, name="a head", cliponaxis=False
        ),
        kit.dots(
            [layer],
            [values[layer, head]],
            size=15,
            hover=False,
            marker={"color": "rgba(0,0,0,0)", "line": {"color": "@query", "width": 3}},
            name=f"head {layer}.{head}",
            cliponaxis=False,
        ),
    ]
    axes = {
        "xaxis": {"title": "layer", "dtick": 1 if layers <= 16 else 4, "range": [-0.5, layers - 0.5]},
        "yaxis": {"title": title, "range": [0, top]},
    }
    return theme.build(parts, theme.base_layout(height, **axes, margin={"l": 52, "r": 8, "t": 30, "b": 42}))
