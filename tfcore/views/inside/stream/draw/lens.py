"""The logit lens: a grid of top predictions, and the probability of single tokens stage by stage."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.measures.lenses import LensReading, stage_names
from tfcore.views.inside.stream.measure.lens import LENSES, By, TokenPath

ROW = 25  # pixels, of one row of the grid
AROUND = 76  # pixels above and below the rows
LABELLED = 15  # stages that have a label of their own
CELL = 78  # pixels, the least width of a cell
DASHES: dict[By, str] = {"logit": "dot", "tuned": "solid", "jacobian": "dash", "patchscope": "dashdot"}
NO_DIVERGENCE = 1e-4  # nats: below are rounding errors
SCALE_END = 2.0  # probability 1 is half way along the colour scale, so that text can be read on it


def grid_height(n: int) -> int:
    """The height of the grid for a text of n tokens."""
    return ROW * n + AROUND


def lens_grid(
    words: Sequence[Sequence[str]],
    probability: Float[ndarray, "seq stage"],
    right: Bool[ndarray, "seq stage"],
    hovers: Sequence[Sequence[str]],
    read: Sequence[str],
    following: Sequence[str],
    stages: Sequence[str],
    position: int,
    first: int = 0,
) -> go.Figure:
    """One row a position of the text, one column a stage of the model: the guess, printed; framed where it is right.

    Args:
        words: the guesses, safe for plotly.
        probability: of the guesses, the colour of the cell.
        right: where the guess is the token that follows.
        hovers: a sentence for each cell.
        read: the token read at each position.
        following: the token that follows each, "" where the text ends.
        stages: names of the columns.
        position: that is marked, if it is among the rows.
        first: position of the first row.
    """
    n, across = probability.shape
    places = list(range(first, first + n))
    cells: dict[str, Any] = kit.cells(
        probability.astype(np.float32),
        "@seq:residual",
        0,
        SCALE_END,
        hover="%{customdata}",
        y=places,
        text=[list(row) for row in words],
        texttemplate="%{text}",
        customdata=[list(row) for row in hovers],
        showscale=False,
        xgap=2,
        ygap=2,
        textfont={"family": theme.MONO, "size": 12, "color": "@ink"},
    )
    x, y = frames(right)
    marked = [position] if position in places else []
    marks = kit.line(x, y + np.float32(first), "@accent", width=2, hover=False, xaxis="x", yaxis="y2", showlegend=False)
    axis: dict[str, Any] = {"showgrid": False, "fixedrange": True, "tickmode": "array"}
    mono = {"family": theme.MONO, "size": 12, "color": "@ink"}
    down = {**axis, "tickvals": places, "range": [first + n - 0.5, first - 0.5], "tickfont": mono}
    layout = theme.base_layout(
        grid_height(n),
        xaxis={
            **axis,
            "tickvals": list(range(across)),
            "ticktext": list(stages),
            "side": "top",
            "range": [-0.5, across - 0.5],
            "title": {"text": "guess read from the stream after …", "standoff": 4},
        },
        yaxis={**down, "ticktext": [f"{i} {token}" for i, token in zip(places, read, strict=True)]},
        yaxis2={**down, "ticktext": [f"<b>{token}</b>" for token in following], "overlaying": "y", "side": "right"},
        margin={"l": 60, "r": 70, "t": 58, "b": 8},
        shapes=[kit.box(0, 1, row - 0.5, row + 0.5, edge="@ink", width=1.5, paper="x") for row in marked],
    )
    return theme.build([cells, marks], layout)


def frames(where: Bool[ndarray, "row column"]) -> tuple[ndarray, ndarray]:
    """A square around each marked cell, as x and y of one line with gaps."""
    row, column = np.nonzero(where)
    side = 0.46
    x = np.stack([column - side, column + side, column + side, column - side, column - side, np.nan * column], 1)
    y = np.stack([row - side, row - side, row + side, row + side, row - side, np.nan * row], 1)
    nothing = np.full(1, np.nan)  # the axis needs a trace, even an empty one
    return np.append(x.ravel(), nothing).astype(np.float32), np.append(y.ravel(), nothing).astype(np.float32)


def stage_axis(stages: Sequence[str]) -> dict[str, Any]:
    """An axis of the stages, of which at most LABELLED are named, the last among them."""
    places, every = list(range(len(stages))), max(1, len(stages) // LABELLED)
    named = {"tickvals": places[::-every][::-1], "ticktext": list(stages)[::-every][::-1]}
    return {**named, "fixedrange": True, "showgrid": False}


def token_path_figure(path: TokenPath, labels: Sequence[str], stages: Sequence[str], height: int) -> go.Figure:
    """Probability of some tokens after each stage, one line each; in the hover also the rank.

    Args:
        labels: of the tokens, safe for plotly; the first is the chosen one.
    """
    lines = [
        kit.line(
            list(range(len(stages))),
            path.probability[:, i].astype(np.float32),
            f"@cat{i}",
            name=name,
            width=3 if i == 0 else 1.6,
            marks={"size": 8 if i == 0 else 5, "symbol": i},
            customdata=np.stack([path.rank[:, i] + 1, path.logits[:, i]], 1).round(2).tolist(),
            hovertemplate=(
                "%{y:.1%}, number %{customdata[0]}, %{customdata[1]:.1f} logits above the mean<extra>"
                + name
                + "</extra>"
            ),
        )
        for i, name in enumerate(labels)
    ]
    layout = theme.base_layout(
        height,
        xaxis=stage_axis(stages),
        yaxis=kit.axis("probability", [-0.03, 1.05], fixed=True, tickformat=".0%"),
        legend={"font": {"family": theme.MONO, "size": 12}, "y": 1.04},
        margin={"t": 52},
        hovermode="closest",
    )
    return theme.build(lines, layout)


def paths_beside_figure(
    paths: tuple[TokenPath, TokenPath], position: tuple[int, int], labels: tuple[str, str], height: int
) -> go.Figure:
    """The probability of a token after each stage of two readings, by the share of the model that is behind.

    Args:
        position: of the token among those of each path.
        labels: of both, safe for plotly.
    """
    lines = [
        kit.line(
            np.linspace(0, 1, len(path.stages)).astype(np.float32),
            path.probability[:, at].astype(np.float32),
            f"@cat{i}",
            name=name,
            width=2.5,
            dash=("dash", None)[i],
            marks={"size": 5},
            customdata=stage_names(path.stages),
            hover="after %{customdata}: %{y:.1%}",
        )
        for i, (path, at, name) in enumerate(zip(paths, position, labels, strict=True))
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("share of the layers that are behind", [-0.02, 1.02], fixed=True, tickformat=".0%"),
        yaxis=kit.axis("probability", [-0.03, 1.05], fixed=True, tickformat=".0%"),
        legend={"y": 1.04},
        margin={"t": 52},
    )
    return theme.build(lines, layout)


def divergence_figure(compared: Mapping[By, LensReading], height: int) -> go.Figure:
    """The mean KL divergence of the model's predictions from those of each lens, stage by stage: a line each. On a
    logarithmic scale, where a divergence of 0, as at the last stage, has no point."""
    places = {name: i for i, name in enumerate(compared["logit"].stages)}
    names = stage_names(compared["logit"].stages)
    lines = []
    for i, (by, read) in enumerate(compared.items()):
        at = [places[stage] for stage in read.stages]
        lines.append(
            kit.line(
                at,
                [value if value > NO_DIVERGENCE else None for value in read.divergence.mean(1).tolist()],
                f"@cat{i}",
                name=LENSES[by],
                width=2.4,
                dash=DASHES[by],
                hover=f"{LENSES[by]}, %{{customdata}}: %{{y:.2f}} nats",
                customdata=[names[place] for place in at],
                marks={"size": 7, "symbol": i},
            )
        )
    layout = theme.base_layout(
        height,
        xaxis=stage_axis(names),
        yaxis=kit.axis("mean KL divergence, nats", log=True, fixed=True, dtick=1),
        legend={"y": 1.06},
        margin={"t": 44},
        hovermode="closest",
    )
    return theme.build(lines, layout)
