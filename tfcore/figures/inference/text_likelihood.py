"""A picture of how likely the texts of several strategies are to the model, as they grow."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.analysis.inference.decoding import LEAST, NAMES, Strategy, Written
from tfcore.figures import theme

COLOURS = {"greedy": "@cat0", "beam": "@cat3", "sampling": "@cat2", "pure": "@cat1"}
DASHES = {"greedy": "solid", "beam": "dash", "sampling": "solid", "pure": "dot"}


def likelihood_figure(texts: Mapping[Strategy, Sequence[Written]], tokens: int, height: int) -> go.Figure:
    """The mean log-probability of each text up to each of its tokens, and each end with its number.

    Args:
        texts: empty ones are left out.
        tokens: the end of the axis.
    """
    data, notes = [], []
    for key, text in texts.items():
        if not text:
            continue
        logs = np.log([max(one.probability, LEAST) for one in text])
        means = np.cumsum(logs) / np.arange(1, len(logs) + 1)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": NAMES[key],
                "x": np.arange(1, len(means) + 1),
                "y": means.astype(np.float32),
                "line": {"color": COLOURS[key], "width": 2.5, "dash": DASHES[key]},
                "hovertemplate": "after %{x} tokens: %{y:.2f}<extra>" + NAMES[key] + "</extra>",
            }
        )
        notes.append(
            {
                "x": len(means),
                "y": float(max(means[-1], -4)),
                "text": f"{means[-1]:.2f}",
                "xanchor": "left",
                "xshift": 4,
                "showarrow": False,
                "font": {"size": 12, "color": COLOURS[key]},
            }
        )
    layout = theme.base_layout(
        height,
        annotations=notes,
        margin={"r": 40},
        xaxis={"title": "tokens written", "range": [1, max(tokens, 2)]},
        yaxis={"title": "mean log-probability, nats", "range": [-4, 0.1]},
    )
    return theme.build(data, layout)
