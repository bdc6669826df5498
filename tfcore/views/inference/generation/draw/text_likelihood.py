"""A picture of how likely the texts of several strategies are to the model, as they grow."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.inference.generation.measure.decoding import LEAST, NAMES, Strategy, WrittenToken

COLOURS = {"greedy": "@cat0", "beam": "@cat3", "sampling": "@cat2", "pure": "@cat1"}
LOWEST, HIGHEST = -4.0, 0.1  # ends of the axis
MARGINS = 72  # pixels above and below the axis
APART = 13  # pixels between two numbers at the end
DASHES = {"greedy": "solid", "beam": "dash", "sampling": "solid", "pure": "dot"}


def likelihood_figure(texts: Mapping[Strategy, Sequence[WrittenToken]], tokens: int, height: int) -> go.Figure:
    """The mean log-probability of each text up to each of its tokens, and each end with its number.

    Args:
        texts: empty ones are left out.
        tokens: the end of the axis.
    """
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for key, text in texts.items():
        if not text:
            continue
        logs = np.log([max(one.probability, LEAST) for one in text])
        means = np.cumsum(logs) / np.arange(1, len(logs) + 1)
        data.append(
            kit.line(
                np.arange(1, len(means) + 1),
                means.astype(np.float32),
                COLOURS[key],
                name=NAMES[key],
                width=2.5,
                dash=DASHES[key],
                hovertemplate="after %{x} tokens: %{y:.2f}<extra>" + NAMES[key] + "</extra>",
            )
        )
        notes.append(
            kit.note(
                f"{means[-1]:.2f}", len(means), float(max(means[-1], LOWEST)), COLOURS[key], xanchor="left", xshift=4
            )
        )
    pixel = (HIGHEST - LOWEST) / (height - MARGINS)  # in nats
    last = HIGHEST + APART * pixel
    for note in sorted(notes, key=lambda note: -note["y"]):  # pushed apart where they would touch
        last = min(note["y"], last - APART * pixel)
        note["yshift"] = (last - note["y"]) / pixel
    layout = theme.base_layout(
        height,
        annotations=notes,
        margin={"r": 40},
        xaxis=kit.axis("tokens written", [1, max(tokens, 2)]),
        yaxis=kit.axis("mean log-probability, nats", [LOWEST, HIGHEST]),
    )
    return theme.build(data, layout)
