"""A picture of what every token of a conversation cost the model, coloured by who says it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.inference.generation.measure.conversation import ROLES, ConversationBits, Role

COLOURS: dict[Role | None, str] = {None: "@muted", "system": "@cat6", "user": "@cat1", "assistant": "@cat0"}


def conversation_figure(costs: ConversationBits, labels: Sequence[str], height: int) -> go.Figure:
    """A bar for each token but the first: -log2 of the probability the model gave it.

    Args:
        labels: of all tokens, as they may stand in a figure.
    """
    places = np.arange(1, len(costs.tokens))
    owners = [token.role for token in costs.tokens[1:]]
    data = []
    for role, colour in COLOURS.items():
        here = [i for i, owner in enumerate(owners) if owner == role]
        if not here:
            continue
        data.append(
            kit.bars(
                places[here],
                costs.bits[here].astype(np.float32),
                colour,
                name=ROLES[role],
                customdata=[labels[i + 1] for i in here],
                hovertemplate="token %{x}, %{customdata}: %{y:.1f} bits<extra>" + ROLES[role] + "</extra>",
            )
        )
    layout = theme.base_layout(
        height,
        barmode="overlay",
        bargap=0.15,
        xaxis=kit.axis("token of the conversation", [0, len(costs.tokens)], grid=False),
        yaxis=kit.axis("cost, bits", rangemode="tozero"),
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        showlegend=True,
        margin={"t": 36},
    )
    return theme.build(data, layout)
