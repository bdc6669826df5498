"""Pictures of routing: who takes each token in every layer, how sure the router is, loads, likings, losses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import MOST_LABELS, SLANT, label_room, ticks
from tfcore.views.experts.routing.measure.text_routing import GroupChoice
from tfcore.views.experts.routing.measure.tokens import Preferred

HUES = len(theme.CATEGORIES)
WRITTEN = 100  # tokens up to which an expert's number stands in its cell
LOW = 0.1  # of the highest bar: below that, a number does not fit inside
NUMBERED = 24  # experts up to which each has its number under its bar


def overview_figure(
    first: Int[ndarray, "layer seq"],
    weight: Float[ndarray, "layer seq"],
    labels: Sequence[str],
    layers: Sequence[int],
    chosen: tuple[int, int],
    height: int,
) -> go.Figure:
    """A row for each layer, a column for each token, coloured by the expert with the largest weight.

    Args:
        first: that expert; -1 where none takes the token.
        weight: its weight.
        labels: of the tokens, safe for plotly.
        layers: the numbers of the layers.
        chosen: row and column that are framed.
    """
    n, rows = len(labels), len(layers)
    none = first < 0
    names = np.where(none, "", (first + 1).astype(str))
    hover = [
        [
            f"'{labels[j]}' ({j}), layer {layers[i]}: "
            + ("no expert" if none[i, j] else f"expert {first[i, j] + 1}, weight {weight[i, j]:.2f}")
            for j in range(n)
        ]
        for i in range(rows)
    ]
    field = kit.cells(
        np.where(none, np.nan, first % HUES).astype(np.float32),
        steps(),
        -0.5,
        HUES - 0.5,
        hover="%{customdata}",
        showscale=False,
        xgap=1,
        ygap=3,
        customdata=hover,
        hoverongaps=True,
    )
    if n <= WRITTEN:
        field |= {"text": names.tolist(), "texttemplate": "%{text}", "textfont": {"size": 11, "color": "@paper"}}
    row, column = chosen
    layout = theme.base_layout(
        height,
        margin={"l": 62, "r": 8, "t": 8, "b": label_room(labels, SLANT) + 8},
        xaxis={
            **ticks(labels, 2 * MOST_LABELS),
            "range": [-0.5, n - 0.5],
            "tickangle": -SLANT,
            "automargin": False,
            "showgrid": False,
            "fixedrange": True,
        },
        yaxis=kit.axis(
            None,
            [rows - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(rows)),
            ticktext=[f"layer {i}" for i in layers],
            automargin=False,
        ),
        shapes=[kit.box(column - 0.5, column + 0.5, row - 0.5, row + 0.5, edge="@ink", width=2.5)],
    )
    return theme.build([field], layout)


def steps() -> list[list[Any]]:
    """A colour scale of flat steps, one for each colour of experts."""
    return [[edge / HUES, f"@expert{i}"] for i in range(HUES) for edge in (i, i + 1)]


def probs_figure(
    probs: Float[ndarray, " expert"],
    weights: Float[ndarray, " expert"],
    chosen: Bool[ndarray, " expert"],
    usual: Float[ndarray, " expert"] | None,
    height: int,
    choice: GroupChoice | None = None,
) -> go.Figure:
    """The router's probabilities for one token; full colour where it goes, with the weight the expert's output gets.

    Args:
        choice: among groups of experts: dashes at what is compared, and a frame around each group that is open.
        usual: which part of this token's occurrences goes to each expert elsewhere; dots.
    """
    n, most = len(probs), max(0.3, float(probs.max()))
    words = [f"<b>{weights[i]:.2f}</b>" if chosen[i] else "" for i in range(n)]
    bars = kit.bars(
        _places(n),
        probs.astype(np.float32),
        [f"@expert{i % HUES}" + ("" if chosen[i] else "/0.3") for i in range(n)],
        hover="expert %{x}: probability %{y:.3f}",
        text=words,
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 13, "color": "@ink"},
        showlegend=False,
    )
    data = [bars]
    if usual is not None:
        data.append(_diamonds(usual, "expert %{x}: takes it %{y:.0%} of the time in the held-out stories"))
        most = max(most, float(usual.max()))
    least, frames = 0.0, []
    if choice is not None:
        data.append(_dashes(choice.compared))
        least, most = min(0.0, 1.17 * float(choice.compared.min())), max(most, float(choice.compared.max()))
        each = n // choice.n_groups
        frames = [
            kit.box(i * each + 0.55, (i + 1) * each + 0.45, 0, 1, edge="@muted", width=1, paper="y")
            for i in choice.groups
        ]
    layout = theme.base_layout(
        height,
        margin={"t": 12},
        bargap=0.2,
        xaxis=_numbers(n),
        yaxis=kit.axis("probability", [least, 1.17 * most], fixed=True, rangemode="tozero"),
        **({"shapes": frames} if frames else {}),
    )
    return theme.build(data, layout)


def load_figure(
    taken: Int[ndarray, " expert"],
    dropped: Int[ndarray, " expert"],
    room: int | None,
    expert: int,
    usual: Float[ndarray, " expert"] | None,
    height: int,
) -> go.Figure:
    """How many tokens each expert computes; on top, hatched, those that found it full.

    Args:
        room: tokens an expert takes at most; a line.
        expert: the one that is marked; -1 is none.
        usual: what an expert would have if it took its share of the held-out stories; dots.
    """
    n, asked = len(taken), taken + dropped
    even = float(asked.sum()) / n
    faint = ["" if expert in (-1, i) else "/0.3" for i in range(n)]
    data: list[dict[str, Any]] = [
        kit.bars(
            _places(n),
            taken.astype(np.int32),
            [f"@expert{i % HUES}{faint[i]}" for i in range(n)],
            hover="expert %{x} computes %{y} tokens",
            showlegend=False,
            text=[str(v) for v in taken],
            textposition=["inside" if v > LOW * asked.max() else "outside" for v in taken.tolist()],
            insidetextanchor="start",
            textangle=0,
            constraintext="none",
            cliponaxis=False,
            insidetextfont={"size": 12, "color": ["@ink" if pale else "@paper" for pale in faint]},
            outsidetextfont={"size": 12, "color": "@ink"},
        )
    ]
    if dropped.any():
        data.append(
            kit.bars(
                _places(n),
                dropped.astype(np.int32),
                "@paper",
                marker={
                    "line": {"color": "@muted", "width": 1},
                    "pattern": {"shape": "/", "fgcolor": "@muted", "bgcolor": "@paper", "size": 5},
                },
                hover="expert %{x} has no room for %{y} tokens",
                showlegend=False,
            )
        )
    if usual is not None:
        data.append(_diamonds(usual, "expert %{x}: %{y:.1f} tokens by its share of the held-out stories"))
    lines = [_line(even, "dot", "@muted", "even")]
    if room is not None:
        lines = [_line(float(room), "solid", "@ink", f"room: {room}")]
    most = max(float(asked.max(initial=1)), even, room or 0, float(usual.max()) if usual is not None else 0)
    layout = theme.base_layout(
        height,
        barmode="stack",
        bargap=0.2,
        margin={"t": 12, "r": 58},
        xaxis=_numbers(n),
        yaxis=kit.axis("tokens", [0, 1.12 * most], fixed=True),
        shapes=[line for line, _ in lines],
        annotations=[words for _, words in lines],
    )
    return theme.build(data, layout)


def _diamonds(usual: Float[ndarray, " expert"], hover: str) -> dict[str, Any]:
    """Marks of what is usual for each expert, over its bar."""
    return kit.dots(
        _places(len(usual)),
        usual.astype(np.float32),
        "@ink",
        symbol="diamond-open",
        size=9,
        marker={"line": {"width": 1.6}},
        hover=hover,
        showlegend=False,
    )


def _dashes(compared: Float[ndarray, " expert"]) -> dict[str, Any]:
    """Marks of what the choice compares, over each expert's bar."""
    return kit.dots(
        _places(len(compared)),
        compared.astype(np.float32),
        "@ink",
        symbol="line-ew-open",
        size=16,
        marker={"line": {"width": 2}},
        hover="expert %{x}: %{y:.3f} is compared, its bias included",
        showlegend=False,
    )


def _places(n: int) -> list[int]:
    return list(range(1, n + 1))


def _numbers(n: int) -> dict[str, Any]:
    """An axis of experts."""
    return kit.axis("expert", [0.4, n + 0.6], fixed=True, grid=False, dtick=1 if n <= NUMBERED else 8, tick0=0)


def _line(y: float, dash: str, colour: str, words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A line across, and its name at its right end."""
    line = kit.across(y, colour, width=1.4, dash=dash, below=False)
    name = kit.note(words, 1, y, colour, size=11, paper="x", xanchor="left")
    return line, name


def preferred_figure(listed: Preferred, labels: Sequence[str], expert: int, by: str, height: int) -> go.Figure:
    """The tokens an expert likes, the most liked on top.

    Args:
        labels: of the tokens, safe for plotly.
        by: "share": the bar is the part of the token's occurrences that the expert takes; "work": the part of what the
            expert takes that the token makes up, and paler where most of its occurrences go elsewhere.
    """
    share, n = listed.share.tolist(), len(labels)
    values = listed.share if by == "share" else listed.work
    names = [f"{sent:,} of {seen:,}" for sent, seen in zip(listed.sent.tolist(), listed.seen.tolist(), strict=True)]
    bars = kit.bars(
        (100 * values).astype(np.float32),
        list(range(n)),
        [f"@expert{expert % HUES}/{max(0.25, part):.2g}" for part in share],
        hover="'%{customdata[0]}': %{customdata[1]} go to this expert",
        orientation="h",
        text=[
            f"{100 * v:.0f} %" + (f" · {100 * part:.0f} % of all" if by == "work" else f" of {seen:,}")
            for v, part, seen in zip(values, share, listed.seen.tolist(), strict=True)
        ],
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 12, "color": "@ink"},
        customdata=[[label, name] for label, name in zip(labels, names, strict=True)],
    )
    title = "% of the token's occurrences" if by == "share" else "% of what the expert takes"
    most = 100 if by == "share" else 100 * float(values.max(initial=0.01))
    layout = theme.base_layout(
        height,
        margin={"t": 8, "r": 118 if by == "work" else 92},
        bargap=0.25,
        xaxis=kit.axis(title, [0, 1.001 * most], fixed=True),
        yaxis=kit.axis(
            None,
            [max(n, 4) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(n)),
            ticktext=list(labels),
            tickfont={"family": theme.MONO, "size": 13, "color": "@ink"},
        ),
    )
    return theme.build([bars], layout)
