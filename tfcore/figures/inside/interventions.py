"""What edits do: the next token's probabilities before and after, and the loss increase of every token of a text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import MOST_LABELS, SLANT, hover_ticks, label_room, ticks

MOST_NUMBERS = 100  # cells up to which each has its number written in it


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
        xaxis={
            "title": "probability of the next token",
            "range": [0, 1.12],
            "tickformat": ".0%",
            "fixedrange": True,
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
        },
        yaxis={
            "tickvals": places,
            "ticktext": list(labels),
            "range": [len(places) - 0.4, -0.6],
            "fixedrange": True,
            "showgrid": False,
            "tickfont": {"family": theme.MONO, "size": 12, "color": "@ink"},
        },
        legend={"traceorder": "normal", "y": 1.03},
        margin={"t": 64, "r": 12},
        bargap=0.22,
        bargroupgap=0.06,
    )
    return theme.build(bars, layout)


def estimate_scatter(
    estimate: Float[ndarray, " part"],
    exact: Float[ndarray, " part"],
    names: Sequence[str],
    is_head: Sequence[bool],
    end: float,
    unit: str,
    height: int,
) -> go.Figure:
    """Estimated against exact effects, one point a part; on the diagonal they agree.

    Args:
        end: where both axes end; points beyond lie on the border, as triangles.
    """
    border = 1.1 * end
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [-border, border],
            "y": [-border, border],
            "line": {"color": "@muted", "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
            "name": "estimate = exact",
        }
    ]
    for name, role, wanted in (("head", "@attention", True), ("feed-forward layer", "@feedforward", False)):
        kept = [i for i, one in enumerate(is_head) if one == wanted]
        if not kept:
            continue
        x, y = exact[kept], estimate[kept]
        far = (np.abs(x) > border) | (np.abs(y) > border)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": x.clip(-border, border).astype(np.float32),
                "y": y.clip(-border, border).astype(np.float32),
                "text": [names[i] for i in kept],
                "customdata": np.stack([x, y], 1).round(3).tolist(),
                "marker": {
                    "color": role,
                    "size": [9 if one else 6 for one in far.tolist()],
                    "symbol": ["triangle-up" if one else "circle" for one in far.tolist()],
                },
                "cliponaxis": False,
                "hovertemplate": "%{text}: exact %{customdata[0]:+.2f}, estimate %{customdata[1]:+.2f}<extra></extra>",
            }
        )
    axis = {"range": [-border, border], "fixedrange": True, "zeroline": True, "zerolinecolor": "@grid"}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": f"exact effect ({unit})"},
        yaxis={**axis, "title": f"estimate ({unit})"},
        legend={"y": 1.06},
        margin={"t": 40, "r": 14},
    )
    return theme.build(traces, layout)


def percent(value: float) -> str:
    """A probability in per cent; below 0.1 % only that it is."""
    return "<0.1%" if 0 < value < 0.001 else f"{value:.1%}"


def rows_height(n_rows: int) -> int:
    """Of a figure with a row for each part: with more rows they are lower."""
    return 120 + min(34 * n_rows, max(620, 9 * n_rows))


def part_by_token(
    values: Float[ndarray, "row next"],
    rows: Sequence[str],
    labels: Sequence[str],
    limit: float,
    chosen: tuple[int, int],
    hover: str,
    axis: str,
    height: int,
) -> go.Figure:
    """Signed numbers, a row for each part of a model and a column for each token of a text.

    Args:
        labels: of the tokens, safe for plotly.
        limit: the largest number that has a colour of its own.
        chosen: row and column that are framed; a column of -1 frames none.
        hover: sentence for a cell; %{y} is the row, %{x} the token with its position, %{z} the number.
        axis: what the tokens are.
    """
    n_rows, n = values.shape
    cells = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        "zmin": -limit,
        "zmax": limit,
        "colorscale": "@signed",
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": hover + "<extra></extra>",
        "texttemplate": "%{z:.2f}" if values.size <= MOST_NUMBERS else "",
        "textfont": {"size": 11},
        "showscale": values.size > MOST_NUMBERS,
        "colorbar": {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 11, "color": "@muted"}},
    }
    plain: dict[str, Any] = {"showgrid": False, "fixedrange": True, "automargin": False}
    across = [-0.5, n - 0.5]
    row, column = chosen
    spans = [(-0.5, n - 0.5, row - 0.5, row + 0.5)] + (
        [(column - 0.5, column + 0.5, -0.5, n_rows - 0.5)] if column >= 0 else []
    )
    unseen = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x2", "hoverinfo": "skip", "showlegend": False}
    layout = theme.base_layout(
        height,
        xaxis={**plain, **hover_ticks(labels), "range": across},
        xaxis2={
            **plain,
            **ticks(labels, 2 * MOST_LABELS),
            "range": across,
            "overlaying": "x",
            "side": "bottom",
            "tickangle": -SLANT,
            "title": {"text": axis, "standoff": 4},
        },
        yaxis={
            **plain,
            "tickvals": list(range(n_rows))[:: (step := -(-13 * n_rows // height))],
            "ticktext": list(rows)[::step],
            "range": [n_rows - 0.5, -0.5],
            "automargin": True,
        },
        margin={"l": 96, "r": 8, "t": 10, "b": label_room(labels, SLANT) + 26},
        shapes=[
            {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": {"color": "@accent", "width": 1.5}}
            for x0, x1, y0, y1 in spans
        ],
    )
    return theme.build([cells, unseen], layout)
