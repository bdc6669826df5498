"""Pictures of what a mixture weighs: the experts of one layer as a strip, parameters in all beside those at work."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.components import COLOURS
from tfcore.measures.quantities import short
from tfcore.views.experts.routing.measure.sizes import ExpertSizes

GAP = 0.12  # of an expert's width
SMALL = 0.005  # of all parameters, what can be seen of a bar
MOST = 300  # experts that are drawn one by one
WORDS = {"shared": "shared: every token", "at work": "routed, at work for a token", "idle": "routed, idle for it"}
SHARED = {
    "color": "@feedforward",
    "pattern": {"shape": "/", "bgcolor": "@feedforward/0.55", "fgcolor": "@paper", "size": 7, "solidity": 0.3},
}
LOOKS: dict[str, dict[str, Any]] = {
    "shared": SHARED,
    "at work": {"color": "@feedforward"},
    "idle": {"color": "@feedforward/0.2"},
}
# All layers' components, where a model has feed-forward layers beside its experts.
KINDS = {"shared experts": SHARED, "feed-forward": {"color": "@feedforward/0.35"}}


def expert_strips_figure(rows: Sequence[tuple[str, ExpertSizes]], height: int) -> go.Figure:
    """The experts of one layer side by side, as wide as they are: shared ones, those a token goes to, the others.

    Which of the routed ones are at work differs from token to token; drawn full are the first k of them.

    Args:
        rows: name and arithmetic of each mixture, from top to bottom, all over the same width.
    """
    data: list[dict[str, Any]] = []
    for row, (name, sizes) in enumerate(rows):
        n = min(sizes.n_experts, MOST)
        one = 1 / (n + sizes.n_shared)
        at = 0.0
        for kind, count in (("shared", sizes.n_shared), ("at work", sizes.top_k), ("idle", n - sizes.top_k)):
            if not count:
                continue
            middles = at + one * (np.arange(count) + 0.5)
            at += one * count
            data.append(
                {
                    "type": "bar",
                    "x": middles.astype(np.float32),
                    "y": [0.66] * count,
                    "base": [-row - 0.33] * count,
                    "width": one * (1 - GAP),
                    "marker": {**LOOKS[kind], "line": {"color": "@feedforward", "width": 0.6}},
                    "hovertemplate": f"{name}: {WORDS[kind]}, {sizes.one:,} weights<extra></extra>",
                    "name": WORDS[kind],
                    "legendgroup": kind,
                    "showlegend": kind not in {trace["legendgroup"] for trace in data if trace["showlegend"]},
                }
            )
    layout = theme.base_layout(
        height,
        margin={"l": 118, "r": 8, "t": 34, "b": 8},
        bargap=0,
        barmode="overlay",
        legend={"y": 1.0, "traceorder": "normal"},
        xaxis=kit.axis(None, [-0.005, 1.005], fixed=True, visible=False),
        yaxis=kit.axis(
            None,
            [0.45 - len(rows), 0.45],
            fixed=True,
            grid=False,
            tickvals=[-row for row in range(len(rows))],
            ticktext=[name for name, _ in rows],
            tickfont={"size": 12, "color": "@ink"},
        ),
    )
    return theme.build(data, layout)


def weights_figure(sizes: ExpertSizes, height: int) -> go.Figure:
    """All parameters of a model, and those at work for one token, by component."""
    data = [
        {**_component(name, total, at_work(sizes, name, total)), "showlegend": total > SMALL * sizes.count.total}
        for name, total in sizes.count.by_component.items()
    ]
    layout = theme.base_layout(
        height,
        barmode="stack",
        bargap=0.35,
        margin={"t": 58, "r": 78, "l": 92},
        legend={"traceorder": "normal"},
        xaxis=kit.axis("parameters", [0, 1.01 * sizes.count.total], fixed=True),
        yaxis=kit.axis(
            None,
            [1.6, -0.6],
            fixed=True,
            grid=False,
            tickvals=[0, 1],
            ticktext=["in memory", "at work"],
            tickfont={"size": 13, "color": "@ink"},
        ),
        annotations=[
            kit.note(f"<b>{short(value)}</b>", value, row, "@ink", size=14, xanchor="left", xshift=5)
            for row, value in enumerate((sizes.count.total, sizes.count.active))
        ],
    )
    return theme.build(data, layout)


def at_work(sizes: ExpertSizes, name: str, total: int) -> int:
    """How many parameters of a component compute one token."""
    return sizes.layers * sizes.top_k * sizes.one if name == "experts" else total


def _component(name: str, total: int, active: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [0, 1],
        "x": [total, active],
        "marker": KINDS.get(name, {"color": COLOURS[name]}),
        "hovertemplate": f"{name}: %{{x:,}}<extra></extra>",
    }
