"""Pictures of entropy: bits as areas, where two distributions differ, and the loss of one token."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.views.training.information.measure.entropy import TwoDistributions

P = "@cat0"  # the colour of the distribution P
Q = "@cat1"
HATCH = {"shape": "/", "size": 6, "solidity": 0.25}
NARROW = 0.035  # of an area that has no room for a name
SMALLEST = 0.001  # probability at which the curve of the loss begins


def areas_figure(result: TwoDistributions, names: Sequence[str], height: int) -> go.Figure:
    """Each outcome as wide as it is likely under P, and as high as its bits: the area under P's own steps is H(P), the
    area under Q's is H(P, Q).

    Args:
        names: of the outcomes, safe for plotly.
    """
    shown = np.flatnonzero(result.p > 0).tolist()
    p, q = result.p[shown], result.q[shown]
    left = np.cumsum(p) - p
    own, other = -np.log2(p), -np.log2(np.where(q > 0, q, 1))
    top = ceiling(float(max(own.max(), other.max())))
    infinite = q == 0
    other = np.where(infinite, 1.1 * top, other)
    labels = [names[i] for i in shown]
    bars = {"type": "bar", "x": left.astype(np.float32), "width": p.astype(np.float32), "offset": 0}
    costs = ["infinitely many" if gone else f"{bits:.3f}" for gone, bits in zip(infinite, other, strict=True)]
    data: list[dict[str, Any]] = [
        {
            **bars,
            "y": other.astype(np.float32),
            "name": "H(P, Q): bits by Q's code",
            "customdata": _pairs(labels, costs),
            "marker": {
                "color": f"{Q}/0.35",
                "line": {"color": Q, "width": 1.5},
                "pattern": {**HATCH, "fgcolor": Q, "shape": ["/" if gone else "" for gone in infinite]},
            },
            "hovertemplate": "%{customdata[0]} costs %{customdata[1]} bits if Q is expected<extra></extra>",
        },
        {
            **bars,
            "y": own.astype(np.float32),
            "name": "H(P): bits by P's own code",
            "customdata": labels,
            "marker": {"color": f"{P}/0.45", "line": {"color": P, "width": 1.5}},
            "hovertemplate": "%{customdata} costs %{y:.3f} bits if P is expected<extra></extra>",
        },
    ]
    notes = [
        kit.note(
            ("∞ " if gone else "") + name,
            float(x + w / 2),
            min(float(max(a, b)), top),
            "@ink",
            family=theme.MONO,
            yanchor="top" if gone else "bottom",
            bgcolor="@paper/0.8" if gone else "@paper/0",
        )
        for x, w, a, b, gone, name in zip(left, p, own, other, infinite, labels, strict=True)
        if w > NARROW
    ]
    layout = theme.base_layout(
        height,
        barmode="overlay",
        annotations=notes,
        margin={"t": 44},
        xaxis=kit.axis("width: probability under P", [0, 1], grid=False),
        yaxis=kit.axis("height: bits, log<sub>2</sub> 1/p and log<sub>2</sub> 1/q", [0, 1.1 * top]),
    )
    return theme.build(data, layout)


def _pairs(labels: Sequence[str], costs: Sequence[str]) -> list[list[str]]:
    return [[label, cost] for label, cost in zip(labels, costs, strict=True)]


def ceiling(bits: float) -> float:
    """The end of an axis in bits, one of a few, so that it seldom changes while a bar is dragged."""
    return next((float(end) for end in (1, 2, 4, 7, 10, 14) if bits <= end), math.ceil(bits))


def outcome_terms_figure(result: TwoDistributions, names: Sequence[str], height: int) -> go.Figure:
    """The term of each outcome in KL(P || Q) and to KL(Q || P); hatched to the edge: infinite."""
    both = np.concatenate((result.forward_terms, result.reverse_terms))
    finite = both[np.isfinite(both)]
    limit = ceiling(float(np.abs(finite).max())) if len(finite) else 1.0
    low = -0.6 * limit
    data = [
        _terms(result.forward_terms, names, "KL(P‖Q): weighted by P", P, limit),
        _terms(result.reverse_terms, names, "KL(Q‖P): weighted by Q", Q, limit),
    ]
    layout = theme.base_layout(
        height,
        barmode="group",
        bargap=0.3,
        margin={"t": 44},
        xaxis=kit.axis(
            None,
            [-0.6, len(names) - 0.4],
            grid=False,
            tickvals=list(range(len(names))),
            ticktext=list(names),
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
        ),
        yaxis=kit.axis("bits added", [low, 1.05 * limit], zero=True),
    )
    return theme.build(data, layout)


def _terms(
    terms: Float[ndarray, " outcome"], names: Sequence[str], title: str, role: str, limit: float
) -> dict[str, Any]:
    infinite = ~np.isfinite(terms)
    costs = ["infinitely many" if gone else f"{term:+.4f}" for gone, term in zip(infinite, terms, strict=True)]
    return kit.bars(
        np.arange(len(terms)),
        np.where(infinite, 2 * limit, terms).astype(np.float32),
        f"{role}/0.55",
        name=title,
        marker={
            "line": {"color": role, "width": 1.5},
            "pattern": {**HATCH, "fgcolor": role, "shape": ["/" if gone else "" for gone in infinite]},
        },
        hover="%{customdata[0]}: %{customdata[1]} bits",
        customdata=_pairs(names, costs),
    )


def token_loss_figure(p: float, height: int) -> go.Figure:
    """The loss of one token against the probability of the right one, beside the size of its gradient."""
    x = np.concatenate((np.geomspace(SMALLEST, 0.1, 80), np.linspace(0.105, 1, 120)))
    line = {"type": "scatter", "mode": "lines", "x": x.astype(np.float32)}
    mark = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [p],
        "marker": {"size": 12, "color": "@accent"},
        "textposition": "top right" if p < 0.7 else "top left",
        "textfont": {"size": 13, "color": "@accent"},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    bits = -math.log2(p) + 0.0
    data: list[dict[str, Any]] = [
        {
            **line,
            "y": (-np.log2(x)).astype(np.float32),
            "line": {"color": "@ink", "width": 2.5},
            "hovertemplate": "p = %{x:.3f}: %{y:.3f} bits<extra></extra>",
        },
        {
            **line,
            "y": (1 - x).astype(np.float32),
            "xaxis": "x2",
            "yaxis": "y2",
            "line": {"color": "@ink", "width": 2.5},
            "hovertemplate": "p = %{x:.3f}: gradient %{y:.3f}<extra></extra>",
        },
        {**mark, "y": [bits], "text": [f"<b>{bits:.3f} bits</b>"]},
        {**mark, "y": [1 - p], "text": [f"<b>{1 - p:.3f}</b>"], "xaxis": "x2", "yaxis": "y2"},
    ]
    across = {"range": [-0.02, 1.02], "title": "probability p of the right token"}
    layout = theme.base_layout(
        height,
        showlegend=False,
        margin={"t": 34},
        xaxis={**across, "domain": [0, 0.6]},
        xaxis2={**across, "domain": [0.7, 1], "anchor": "y2"},
        yaxis=kit.axis("loss, bits: −log<sub>2</sub> p", [0, 10.6]),
        yaxis2=kit.axis("size of its gradient: 1 − p", [0, 1.12], anchor="x2"),
    )
    return theme.build(data, layout)
