"""The numbers of the online softmax in cells: what each tile, or each arriving block, does to one query."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.quantities import compact
from tfcore.views.inference.long_context.measure.online_softmax import RowStep

SHOWN = 2  # numbers of the output that are written
# column: (title over it, width)
COLUMNS = (
    ("largest<br>score", 1.0),
    ("running<br>max m", 1.0),
    ("old sums<br>times", 1.05),
    ("sum<br>l", 1.0),
    *((f"out[{i}]", 1.0) for i in range(SHOWN)),
    ("out[0] ÷ l", 1.05),
)


def cells(step: RowStep) -> list[str]:
    """The cells of one step in the ledger."""
    out = [float(value) for value in step.out[:SHOWN]]
    first = out[0] / step.l if step.l else 0.0
    return [compact(value) for value in (step.tile_m, step.m, step.rescale, step.l, *out, first)]


def ledger_figure(done: Sequence[RowStep], names: Sequence[str], height: int) -> go.Figure:
    """One line for each tile or block, filled in as they come; the last one framed.

    Args:
        done: the steps until now.
        names: of all steps, also those to come.
    """
    rows = [[""] * len(COLUMNS) for _ in names]
    for i, step in enumerate(done):
        rows[i] = cells(step)
    shade = np.zeros((len(names), len(COLUMNS)), dtype=np.float32)
    shade[: len(done)] = 0.35
    edges = np.cumsum([0.0, *(width for _, width in COLUMNS)])
    if done:
        shade[len(done) - 1] = 1.0
    data: list[dict[str, Any]] = [
        kit.cells(
            shade,
            [[0, "@muted/0.05"], [0.35, "@attention/0.08"], [1, "@attention/0.22"]],
            0,
            1,
            hover=False,
            x=edges,
            y=np.arange(len(names) + 1) - 0.5,
            showscale=False,
            xgap=2,
            ygap=2,
            text=rows,
            texttemplate="%{text}",
            textfont={"size": 12, "family": theme.MONO, "color": "@ink"},
        )
    ]
    centres = (edges[1:] + edges[:-1]) / 2
    axis = {"showgrid": False, "fixedrange": True, "tickangle": 0}
    layout = theme.base_layout(
        height,
        xaxis={
            **axis,
            "side": "top",
            "tickvals": centres,
            "ticktext": [title for title, _ in COLUMNS],
            "range": [0, edges[-1]],
            "tickfont": {"size": 12, "color": "@ink"},
        },
        yaxis={**axis, "tickvals": list(range(len(names))), "ticktext": list(names), "range": [len(names) - 0.5, -0.5]},
        margin={"t": 44, "b": 6, "r": 4},
    )
    return theme.build(data, layout)


def scores_figure(step: RowStep, labels: Sequence[str], height: int) -> go.Figure:
    """The scores s of one query for the keys at hand, and their weights e^(s - m) relative to the largest of them.

    Args:
        labels: of these keys.
    """
    scores = [compact(float(value), 2) for value in step.scores]
    weights = [f"{value:.3f}" if value == 0 or value >= 0.0005 else "<.001" for value in step.weights]
    z = np.stack([np.zeros(len(labels)), step.weights]).astype(np.float32)
    data = [
        kit.cells(
            z,
            "@weights",
            0,
            1,
            hover="%{y} of %{x}: %{text}",
            showscale=False,
            xgap=2,
            ygap=2,
            text=[scores, weights],
            texttemplate="%{text}",
            textfont={"size": 13},
        )
    ]
    axis = {"showgrid": False, "fixedrange": True, "tickangle": 0 if len(labels) <= 9 else -40}
    layout = theme.base_layout(
        height,
        xaxis={
            **axis,
            "side": "top",
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "tickfont": {"family": theme.MONO, "size": 12, "color": "@key"},
        },
        yaxis={**axis, "tickvals": [0, 1], "ticktext": ["score s", "weight"], "range": [1.5, -0.5], "tickangle": 0},
        margin={"t": 34, "b": 6, "r": 4},
    )
    return theme.build(data, layout)
