"""The most likely tokens of a distribution, as bars."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import theme
from tfcore.charts.tokens import label_room

SIZE = 13  # of the labels
LARGER = SIZE / 12  # than labels are elsewhere


def guesses_figure(probabilities: Float[ndarray, " guess"], labels: Sequence[str], height: int) -> go.Figure:
    """The most likely tokens as bars, best on top.

    Args:
        labels: safe for plotly.
    """
    places = list(range(len(labels)))
    texts = [f"{p:.1%}" if p >= 0.001 else "< 0.1%" for p in probabilities.tolist()]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": probabilities.astype(np.float32),
        "y": places,
        "text": texts,
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": "@embedding"},
        "customdata": list(labels),
        "hovertemplate": "'%{customdata}': %{x:.4f}<extra></extra>",
        "textfont": {"size": 12, "color": "@ink"},
    }
    names = [f"'{label}'" for label in labels]
    layout = theme.base_layout(
        height,
        margin={"l": label_room(names) * LARGER + 8, "r": 52, "t": 6, "b": 26},
        bargap=0.25,
        xaxis={"range": [0, 1], "tickformat": ".0%", "fixedrange": True, "automargin": False, "nticks": 5},
        yaxis={
            "tickvals": places,
            "ticktext": names,
            "range": [len(names) - 0.5, -0.5],
            "fixedrange": True,
            "automargin": False,
            "showgrid": False,
            "tickfont": {"family": theme.MONO, "size": SIZE, "color": "@ink"},
        },
    )
    return theme.build([bars], layout)
