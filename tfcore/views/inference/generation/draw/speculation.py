"""Pictures of speculative decoding: how two distributions make one again, and what the draft is worth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.tokens import SLANT, label_room, ticks
from tfcore.views.inference.generation.measure.speculation import LONGEST, Guess, SpeedUp

MODEL, DRAFT, BOTH = "@cat0", "@cat1", "@cat2"


def acceptance_figure(guess: Guess, labels: Sequence[str], height: int) -> go.Figure:
    """Accepted draft tokens and residual draws after a rejection, one upon the other: p.

    Args:
        labels: of guess.tokens.
    """
    order = np.argsort(-guess.p_all, kind="stable")
    p, q = guess.p_all[order], guess.q_all[order]
    stays, names = np.minimum(p, q), [labels[i] for i in order]
    x = np.arange(len(p))
    common = {"x": x, "customdata": names}
    data = [
        {
            "type": "bar",
            "name": "accepted draft: min(p, q)",
            "y": stays,
            **common,
            "marker": {"color": BOTH},
            "hovertemplate": "%{customdata}: accepted with %{y:.3f}<extra></extra>",
        },
        {
            "type": "bar",
            "name": "residual draw: p − min(p, q)",
            "y": p - stays,
            **common,
            "marker": {"color": MODEL},
            "hovertemplate": "%{customdata}: residual draw with %{y:.3f}<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "q, the draft model",
            "y": q,
            **common,
            "marker": {"symbol": "line-ew", "size": 22, "line": {"width": 3, "color": DRAFT}},
            "hovertemplate": "%{customdata}: drafted with q = %{y:.3f}<extra></extra>",
        },
    ]
    at = [i for i, token in enumerate(guess.tokens[order]) if token == guess.token]
    top = highest(float(max(p.max(), q.max())))
    notes = [
        {
            "x": i,
            "y": max(p[i], q[i]),
            "text": "this token",
            "showarrow": True,
            "arrowhead": 0,
            "ay": -18,
            "ax": 24 if i < len(order) / 2 else -24,  # towards the middle: at the edge the words would be cut
            "arrowcolor": "@ink",
            "font": {"size": 12, "color": "@ink"},
        }
        for i in at
    ]
    layout = theme.base_layout(
        height,
        barmode="stack",
        bargap=0.25,
        annotations=notes,
        margin={"t": 64},
        legend={"y": 1.04, "traceorder": "normal"},
        xaxis={
            **ticks(names, len(names)),
            "tickangle": -SLANT,
            "showgrid": False,
            "range": [-0.6, len(p) - 0.4],
            "automargin": False,
        },
        yaxis=kit.axis("probability", [0, 1.12 * top]),
    )
    layout["margin"]["b"] = label_room(names, SLANT) + 4
    return theme.build(data, layout)


def gain_figure(gain: SpeedUp, height: int) -> go.Figure:
    """Tokens per pass and speed-up against the draft length, by the formula; what was measured as dots."""
    lines = gain.curves
    measured = {"tokens": gain.per_pass} | ({"speed": gain.ratio} if gain.runs else {})
    names = {"tokens": "tokens per pass", "speed": "speed-up"}
    colours = {"tokens": BOTH, "speed": MODEL}
    data: list[dict[str, Any]] = [
        kit.line(
            list(range(len(values))),
            list(values),
            colours[key],
            name=names[key],
            width=2.5,
            hovertemplate="draft length %{x}: %{y:.2f}<extra>" + names[key] + "</extra>",
        )
        for key, values in lines.items()
    ]
    data += [
        {
            "type": "scatter",
            "mode": "markers+text",
            "showlegend": False,
            "x": [gain.guess],
            "y": [value],
            "text": [f"<b>{value:.2f}</b>"],
            "textposition": "top center",
            "textfont": {"color": colours[key], "size": 13},
            "marker": {"color": colours[key], "size": 12, "line": {"width": 1.5, "color": "@paper"}},
            "hovertemplate": "measured: %{y:.2f}<extra>" + names[key] + "</extra>",
        }
        for key, value in measured.items()
    ]
    most = max([*(max(values) for values in lines.values()), *measured.values(), 1.0])
    layout = theme.base_layout(
        height,
        legend={"y": 1.04},
        margin={"t": 64},
        xaxis=kit.axis("draft length γ", [-0.3, LONGEST + 0.3], dtick=1),
        yaxis=kit.axis("tokens per pass, speed-up", [0, 1.18 * most]),
        shapes=[kit.across(1, width=1.5, dash="dash", below=False, yref="y")],
        annotations=[kit.note("the model alone", 1, 1, paper="x", xanchor="right", yanchor="bottom")],
    )
    return theme.build(data, layout)


def highest(p: float) -> float:
    """The end of an axis for probabilities: 0.1, 0.2, 0.4, 0.6, 0.8 or 1, so that it seldom changes."""
    return next((end for end in (0.1, 0.2, 0.4, 0.6, 0.8) if p <= end), 1.0)
