"""Pictures of two models' predictions: KL divergence and surprise token by token, and surprise by characters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.tokens import SLANT, label_room, token_axis
from tfcore.views.model.compare.measure.predictions import ComparedPredictions
from tfcore.views.model.compare.measure.spans import SpanSurprise

FIRST, SECOND, APART = "@cat0", "@cat1", "@accent"  # of the two models, and of the divergence between them
MOST_NAMED = 34  # tokens written under the bars


def divergence_figure(
    read: ComparedPredictions, labels: Sequence[str], names: tuple[str, str], token: int, height: int
) -> go.Figure:
    """Above, a bar for the KL divergence after each token, the chosen one strong; below, the surprise of both models
    at each token. A click carries the token's place as x.

    Args:
        labels: of the tokens, safe for plotly.
        names: of the models, safe for plotly.
    """
    places = list(range(len(labels)))
    said = [getattr(label, "hover", label) for label in labels]
    upper = kit.bars(
        places,
        read.kl.astype(np.float32),
        [APART if place == token else f"{APART}/0.45" for place in places],
        hover="after '%{customdata}' (%{x}): KL %{y:.3f} nats",
        customdata=said,
        showlegend=False,
        yaxis="y2",
    )
    lower = [
        kit.line(
            places,
            values.astype(np.float32),
            colour,
            name=name,
            width=2,
            dash=dash,
            marks={"size": 4},
            customdata=said,
            hovertemplate="'%{customdata}' (%{x}): %{y:.2f} nats<extra>" + name + "</extra>",
        )
        for values, name, colour, dash in zip(read.surprise, names, (FIRST, SECOND), ("solid", "dot"), strict=True)
    ]
    top = 1.12 * max(float(read.kl.max()), 0.01)
    known = read.surprise[np.isfinite(read.surprise)]
    layout = theme.base_layout(
        height,
        margin={"b": label_room(labels, SLANT) + 12, "t": 26},
        bargap=0.15,
        xaxis={**token_axis(labels, MOST_NAMED), "anchor": "y"},
        yaxis=kit.axis(
            "surprise, nats", [0, 1.08 * max(float(known.max(initial=0.0)), 1.0)], fixed=True, domain=[0, 0.46]
        ),
        yaxis2=kit.axis("KL, nats", [0, top], fixed=True, domain=[0.54, 1], anchor="x", nticks=4),
        legend={"y": 0.5, "yanchor": "middle", "x": 1, "xanchor": "right"},
        shapes=[kit.upright(token, "@muted", width=1, dash="dot")],
    )
    return theme.build([upper, *lower], layout)


def spans_figure(read: SpanSurprise, labels: Sequence[str], names: tuple[str, str], height: int) -> go.Figure:
    """Two bars for each piece of a text: the surprise of either model at its characters.

    Args:
        labels: of the pieces, safe for plotly.
        names: of the models, safe for plotly.
    """
    places = list(range(len(labels)))
    data: list[dict[str, Any]] = []
    for row, (name, colour) in enumerate(zip(names, (FIRST, SECOND), strict=True)):
        words = [[getattr(one, "hover", one), int(n)] for one, n in zip(labels, read.tokens[row], strict=True)]
        hover = "'%{customdata[0]}': %{y:.2f} nats, in %{customdata[1]} token(s)<extra>" + name + "</extra>"
        data.append(
            kit.bars(places, read.nats[row].astype(np.float32), colour, name=name, hover=hover, customdata=words)
        )
    layout = theme.base_layout(
        height,
        margin={"b": label_room(labels, SLANT) + 12, "t": 40},
        barmode="group",
        bargap=0.2,
        xaxis=token_axis(labels, MOST_NAMED),
        yaxis=kit.axis("surprise, nats", fixed=True),
    )
    return theme.build(data, layout)
