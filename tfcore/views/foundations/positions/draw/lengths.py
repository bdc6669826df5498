"""Loss against position, for models that read further than they were trained to."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.foundations.positions.measure.effects import LengthLosses


def length_losses_figure(measured: LengthLosses, names: Mapping[str, str], rise: bool, height: int) -> go.Figure:
    """A curve for each scheme, its seeds as a band; to the right of the dotted line no model was ever trained.

    Args:
        names: scheme -> how it is called; those that are shown.
        rise: draw by how much each is above its own loss at the end of the trained length.
    """
    data: list[dict[str, Any]] = []
    for i, scheme in enumerate(measured.loss):
        if scheme not in names:
            continue
        loss = measured.loss[scheme] - measured.loss[scheme][:, [measured.within]] if rise else measured.loss[scheme]
        colour, ends = f"@cat{i}", measured.ends
        data.append(
            kit.line(
                np.concatenate([ends, ends[::-1]]),
                np.concatenate([loss.max(0), loss.min(0)[::-1]]),
                width=0,
                hover=False,
                fill="toself",
                fillcolor=f"{colour}/0.15",
                showlegend=False,
            )
        )
        data.append(
            kit.line(
                ends,
                loss.mean(0),
                colour,
                name=names[scheme],
                width=2,
                hover=f"up to position %{{x}}: %{{y:.3f}}<extra>{names[scheme]}</extra>",
                marks={"size": 6, "symbol": i, "color": colour},
            )
        )
    ticks = [at for at in measured.ends.tolist() if at % measured.trained == 0]
    layout = theme.base_layout(
        height,
        margin={"t": 44},
        xaxis=kit.axis("position in the text", fixed=True, tickvals=ticks),
        yaxis=kit.axis(
            "loss above that within the trained length" if rise else "held-out loss, nats per token", fixed=True
        ),
        shapes=[kit.upright(measured.trained, "@ink", width=1, dash="dot", below=False)],
        annotations=[
            kit.note(
                "trained up to here",
                measured.trained,
                1,
                None,
                size=None,
                paper="y",
                xanchor="left",
                xshift=4,
                yanchor="top",
            )
        ],
    )
    return theme.build(data, layout)
