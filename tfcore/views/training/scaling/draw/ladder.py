"""Figures of our own ladder of models: its rungs on the fitted law, and how far each is from it."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.quantities import round_count
from tfcore.views.training.scaling.measure.ladder_fit import LadderFit

POINTS = 60


def ladder_figure(fit: LadderFit, height: int) -> go.Figure:
    """Loss against size, a curve of the law for each number of tokens; circles were fitted, stars predicted."""
    n = np.geomspace(min(fit.sizes) / 1.3, max(fit.sizes) * 1.5, POINTS)
    data: list[dict[str, Any]] = []
    for i, tokens in enumerate(sorted(set(fit.d.tolist()))):
        colour, name = f"@cat{i}", f"{round_count(tokens)} tokens"
        data.append(kit.line(n, fit.law.loss(n, np.full_like(n, tokens)), colour, name=name, width=2, hover=False))
        for predicted in (False, True):
            mine = (fit.d == tokens) & (fit.predicted == predicted)
            data.append(
                kit.dots(
                    fit.n[mine],
                    fit.loss[mine],
                    colour,
                    name=name,
                    size=14 if predicted else 9,
                    symbol="star" if predicted else "circle",
                    marker={"line": {"color": "@paper", "width": 1}},
                    hover=(
                        "%{x:,} parameters: measured %{y:.4f}, the law says %{customdata:.4f}"
                        f"<extra>{'predicted' if predicted else 'fitted'}, {name}</extra>"
                    ),
                    showlegend=False,
                    customdata=fit.law_loss[mine],
                )
            )
    values = np.concatenate([fit.loss, fit.law_loss])
    room = 0.08 * (values.max() - values.min() + 0.1)
    layout = theme.base_layout(
        height,
        margin={"t": 44},
        xaxis=kit.axis(
            "parameters without embeddings",
            [math.log10(n[0]), math.log10(n[-1])],
            log=True,
            fixed=True,
            tickvals=fit.sizes,
            tickangle=0,
            ticktext=[round_count(size) for size in fit.sizes],
        ),
        yaxis=kit.axis("held-out loss, nats per token", [values.min() - room, values.max() + room], fixed=True),
    )
    return theme.build(data, layout)


def residuals_figure(fit: LadderFit, height: int) -> go.Figure:
    """How far the measured loss of each rung is from the law, in per cent: above zero it came out worse."""
    order = np.lexsort((fit.d, fit.n))
    looks = ((False, "fitted", "@muted"), (True, "predicted", "@accent"))
    residual = 100 * fit.residual[order]
    names = [f"{round_count(n)}, {round_count(d)}" for n, d in zip(fit.n[order], fit.d[order], strict=True)]
    data = [
        kit.bars(
            np.flatnonzero(fit.predicted[order] == kind),
            residual[fit.predicted[order] == kind],
            colour,
            name=words,
            hover=f"%{{customdata}} tokens: %{{y:+.2f}} %<extra>{words}</extra>",
            customdata=[name for name, mine in zip(names, fit.predicted[order], strict=True) if mine == kind],
        )
        for kind, words, colour in looks
    ]
    top = max(1.0, 1.15 * float(np.abs(residual).max()))
    firsts = [i for i in range(len(order)) if i == 0 or fit.n[order][i] != fit.n[order][i - 1]]
    layout = theme.base_layout(
        height,
        bargap=0.2,
        margin={"t": 36},
        xaxis=kit.axis(
            "rungs, by parameters and then by tokens",
            fixed=True,
            tickvals=firsts,
            ticktext=[round_count(fit.n[order][i]) for i in firsts],
        ),
        yaxis=kit.axis("measured over said, %", [-top, top], fixed=True),
    )
    return theme.build(data, layout)
