"""Loss against position, for models that read further than they were trained to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.figures import theme
from tfcore.views.foundations.positions.measure.effects import LengthLosses


def length_losses_figure(found: LengthLosses, names: Mapping[str, str], rise: bool, height: int) -> go.Figure:
    """A curve for each scheme, its seeds as a band; to the right of the dotted line no model was ever trained.

    Args:
        names: scheme -> how it is called; those that are shown.
        rise: draw by how much each is above its own loss at the end of the trained length.
    """
    data: list[dict[str, Any]] = []
    for i, scheme in enumerate(found.loss):
        if scheme not in names:
            continue
        loss = found.loss[scheme] - found.loss[scheme][:, [found.within]] if rise else found.loss[scheme]
        colour, ends = f"@cat{i}", found.ends
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": np.concatenate([ends, ends[::-1]]),
                "y": np.concatenate([loss.max(0), loss.min(0)[::-1]]),
                "fill": "toself",
                "hoverinfo": "skip",
                "fillcolor": f"{colour}/0.15",
                "line": {"width": 0},
                "showlegend": False,
            }
        )
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": ends,
                "y": loss.mean(0),
                "name": names[scheme],
                "line": {"color": colour, "width": 2},
                "marker": {"size": 6, "symbol": i, "color": colour},
                "hovertemplate": f"up to position %{{x}}: %{{y:.3f}}<extra>{names[scheme]}</extra>",
            }
        )
    ticks = [at for at in found.ends.tolist() if at % found.trained == 0]
    layout = theme.base_layout(
        height,
        margin={"t": 44},
        xaxis={"title": "position in the text", "tickvals": ticks, "fixedrange": True},
        yaxis={
            "title": "loss above that within the trained length" if rise else "held-out loss, nats per token",
            "fixedrange": True,
        },
        shapes=[
            {
                "type": "line",
                "x0": found.trained,
                "x1": found.trained,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": "@ink", "width": 1, "dash": "dot"},
            }
        ],
        annotations=[
            {
                "x": found.trained,
                "y": 1,
                "yref": "paper",
                "text": "trained up to here",
                "showarrow": False,
                "xanchor": "left",
                "xshift": 4,
                "yanchor": "top",
            }
        ],
    )
    return theme.build(data, layout)
