"""Norm and cosine of the residual stream, stage by stage, and what each part adds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme

FAR_ABOVE = 8.0  # times the median of the last stage: beyond it a linear axis would hide what most tokens do


LABELLED = 15  # stages that have a label of their own


def label_every(count: int) -> int:
    """The distance between labels on so many stages or parts; 1: each has one."""
    return max(1, count // LABELLED)


def curves(
    values: Float[ndarray, "stage seq"],
    stages: Sequence[str],
    tokens: Sequence[str],
    position: int,
    axis: str,
    *,
    height: int,
    limits: tuple[float, float] | None = None,
) -> go.Figure:
    """One thin line a position, their median dotted, the chosen position strong.

    Args:
        tokens: label of each position, safe for plotly.
        axis: what the numbers are.
        limits: of the axis; None begins at 0 and lets plotly find the end. Where one token's numbers are so much larger
            than the others' that these would lie on the axis, it is logarithmic.
    """
    steep = limits is None and bool(values.max() > FAR_ABOVE * np.median(values[-1]))
    n_stages, n = values.shape
    places, every = np.arange(n_stages), label_every(n_stages)
    gap = np.full((1, n), np.nan, dtype=np.float32)
    y = np.vstack([values.astype(np.float32), gap]).T.ravel()  # all lines in one trace
    x = np.tile(np.append(places, n_stages - 1), n).astype(np.float32)
    names = np.repeat([f"'{token}' ({i})" for i, token in enumerate(tokens)], n_stages + 1).tolist()
    lines: list[dict[str, Any]] = [
        kit.line(x, y, "@residual/0.3", name="each token", width=1, hover="%{text}: %{y:.2f}", text=names),
        kit.line(
            places,
            np.median(values, 1).astype(np.float32),
            "@ink",
            name="median",
            width=1.6,
            dash="dot",
            hover="median %{y:.2f}",
        ),
        kit.line(
            places,
            values[:, position].astype(np.float32),
            "@residual",
            name=f"'{tokens[position]}' ({position})",
            width=3,
            hover="%{y:.2f}",
            marks={"size": 7},
        ),
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            fixed=True, grid=False, tickvals=places[::-every][::-1].tolist(), ticktext=list(stages)[::-every][::-1]
        ),
        yaxis={
            "title": f"{axis} (logarithmic)" if steep else axis,
            "type": "log" if steep else "linear",
            "fixedrange": True,
            **({} if steep else {"rangemode": "tozero"}),
            **({} if limits is None else {"range": list(limits)}),
        },
        legend={"y": 1.04},
        margin={"t": 52},
    )
    return theme.build(lines, layout)


def writes_figure(
    added: Float[ndarray, " part"],
    along: Float[ndarray, " part"],
    parts: Sequence[str],
    roles: Sequence[str],
    height: int,
) -> go.Figure:
    """Additions of all parts at one position: lengths as bars, and cosines to what was there, above them if few."""
    places, every = list(range(len(parts))), label_every(len(parts))
    bars = kit.bars(
        places,
        added.astype(np.float32),
        list(roles),
        hover="%{customdata}: length %{y:.2f}, cosine to the stream %{text}",
        text=[f"{value:+.2f}" for value in along.tolist()],
        customdata=list(parts),
        textposition="outside" if every == 1 else "none",
        cliponaxis=False,
        textfont={"size": 12, "color": "@ink"},
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(fixed=True, grid=False, tickvals=places[::every], ticktext=list(parts)[::every]),
        yaxis=kit.axis("length of what is added", [0, 1.15 * max(1e-6, float(added.max()))], fixed=True),
        margin={"t": 20},
        bargap=0.3,
    )
    return theme.build([bars], layout)
