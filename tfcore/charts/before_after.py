"""Bars of the next token's probabilities without and with edits."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from tfcore.charts import kit, theme


def before_after(
    labels: Sequence[str], before: Sequence[float], after: Sequence[float], names: tuple[str, str], height: int
) -> go.Figure:
    """Two bars per token: its probability without and with the edits.

    Args:
        labels: of the tokens, safe for plotly, the most probable first.
        names: of the two in the legend.
    """
    places = list(range(len(labels)))
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "y": places,
            "x": [round(float(v), 5) for v in values],
            "name": name,
            "marker": {"color": colour, "line": {"color": "@residual", "width": 1.5}},
            "text": [percent(float(v)) for v in values],
            "textposition": "outside",
            "constraintext": "none",  # else written smaller than it can be read, as the bars are low
            "cliponaxis": False,
            "textfont": {"size": 11, "color": "@ink"},
            "customdata": list(labels),
            "hovertemplate": "'%{customdata}' %{x:.2%}<extra>" + name + "</extra>",
        }
        for values, name, colour in ((before, names[0], "@residual/0.18"), (after, names[1], "@residual"))
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "probability of the next token", [0, 1.12], fixed=True, tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1]
        ),
        yaxis=kit.axis(
            None,
            [len(places) - 0.4, -0.6],
            fixed=True,
            grid=False,
            tickvals=places,
            ticktext=list(labels),
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
        ),
        legend={"traceorder": "normal", "y": 1.03},
        margin={"t": 64, "r": 12},
        bargap=0.22,
        bargroupgap=0.06,
    )
    return theme.build(bars, layout)


def percent(value: float) -> str:
    """A probability in per cent; below 0.1 % only that it is."""
    return "<0.1%" if 0 < value < 0.001 else f"{value:.1%}"
