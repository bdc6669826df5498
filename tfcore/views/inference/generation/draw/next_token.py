"""Pictures of one step of generation: the distribution after each filter, where the draw falls, and all ranks."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.charts import ghosts, kit, theme
from tfcore.charts.tokens import label_room
from tfcore.measures.quantities import percent
from tfcore.measures.token_text import label
from tfcore.views.inference.generation.measure.next_token import FILTERS, NextToken

SHOWN = 12  # most likely tokens, which have a row each
FIRST_RANKS, LATER_RANKS = 300, 200  # points of a curve over all ranks
CHARACTERS = 14  # of a token in a label
OTHERS = "{:,} others"  # the row of all other tokens together
GAP = 0.02  # of the width, between columns
ROW, FRAME = 26, 88  # pixels of a row, and of what is above and below all of them
LETTERS, LARGER = 12, 12 / 11  # pixels of the letters of labels, and how much larger than elsewhere they are
NUMBERS = 1.5  # end of an axis whose longest bar ends at 1: room for the number beside it
SEGMENTS = 40  # of a cumulative bar, before the rest is taken together
WIDE = 0.045  # of a segment that has room for its token


class _Rows(NamedTuple):
    """The rows of the picture of the filters.

    Args:
        labels: of the most likely tokens, of the drawn one where it is not among them, and of all others together.
        values: probabilities after each filter.
        drawn: the row of the drawn token.
    """

    labels: list[str]
    values: Float[ndarray, "filter row"]
    drawn: int


def _rows(result: NextToken) -> _Rows:
    count = result.probabilities.shape[1]
    places = list(range(min(SHOWN, count)))
    if result.place >= SHOWN:
        places.append(result.place)
    rest = count - len(places)
    values, labels = result.probabilities[:, places], [token_label(result, place) for place in places]
    if rest:
        others = (result.probabilities.sum(1) - values.sum(1)).clip(min=0)
        values, labels = np.column_stack((values, others)), [*labels, OTHERS.format(rest)]
    return _Rows(labels, values, places.index(result.place))


def filters_figure(result: NextToken) -> go.Figure:
    """A row for each token and a column for each filter: bars of what is left, what was cut away (hatched), and as
    outlines the bars before. Lengths are square roots, on an axis that is the same for every token and every text: a
    hundredth can be seen beside nine tenths."""
    rows, headings = _rows(result), column_headings(result)
    n, left = len(rows.labels), result.left.tolist()  # once: each takes a pass over the whole vocabulary
    wide = (1 + GAP) / len(headings) - GAP
    layout = theme.base_layout(
        FRAME + ROW * n,
        barmode="overlay",
        showlegend=False,
        margin={"l": label_room(rows.labels) * LARGER + 4, "r": 44, "t": 44, "b": 44},
        yaxis={
            "range": [n - 0.5, -0.5],
            "tickvals": list(range(n)),
            "ticktext": rows.labels,
            "tickfont": {"family": theme.MONO, "size": LETTERS, "color": "@ink"},
            "showgrid": False,
            "fixedrange": True,
            "automargin": False,
        },
    )
    data, notes = list[kit.Part](), list[kit.Part]()
    low, high = rows.drawn - 0.5, rows.drawn + 0.5
    shapes = [kit.box(0, 1, low, high, "@accent/0.1", width=0, below=True, paper="x", yref="y")]
    for i, heading in enumerate(headings):
        number, start = f"{i + 1}" if i else "", i * (wide + GAP)
        layout[f"xaxis{number}"] = _axis([start, min(start + wide, 1.0)])
        data += _column(result, rows, i, f"x{number}")
        colour = "@ink" if result.is_on[i] else "@muted"
        notes.append(
            kit.note(
                heading, start, 1, colour, size=11, paper="xy", xanchor="left", yanchor="bottom", align="left", yshift=4
            )
        )
        if result.is_on[i] and left[i] < min(SHOWN, n):
            edge = left[i] - 0.5
            shapes.append(kit.stroke(0, 1, edge, edge, "@ink", width=1.5, dash="dot", xref=f"x{number}", yref="y"))
    notes.append(kit.note("<b>drawn</b>", 1, rows.drawn, "@accent", paper="x", xanchor="left", xshift=4, yref="y"))
    layout |= {"annotations": notes, "shapes": shapes}
    return theme.build(data, layout)


def _axis(domain: list[float]) -> kit.Part:
    """The axis of a column, from 0 to 1 in square roots."""
    axis = kit.axis(
        None, [0, NUMBERS], fixed=True, domain=domain, tickvals=[0, 0.5, 1], ticktext=["0", "25 %", "100 %"]
    )
    return theme.base_layout(
        1, xaxis={**axis, "anchor": "y", "automargin": False, "tickangle": 0, "tickfont": {"size": 10}}
    )["xaxis"]


def _column(result: NextToken, rows: _Rows, i: int, axis: str) -> list[kit.Part]:
    """The bars of one filter with their numbers; those of one that is off are faint and have none."""
    after, before, on = rows.values[i], rows.values[max(i - 1, 0)], bool(i == 0 or result.is_on[i])
    places, lengths = list(range(len(after))), np.sqrt(after)
    strength = "" if on else "/0.4"
    colours = [f"@accent{strength}" if row == rows.drawn else f"@embedding{strength}" for row in places]
    if not on:
        hover = "%{customdata}, as before"
        same = kit.bars(lengths, places, colours, hover=hover, customdata=rows.labels, width=ghosts.NARROW, xaxis=axis)
        return [same | {"orientation": "h"}]
    cut = np.where((after == 0) & (before > 0), before, 0.0)
    if result.left[i] < result.left[max(i - 1, 0)] and len(after) > min(SHOWN, result.probabilities.shape[1]):
        cut[-1] = before[-1]  # of the others some go, the rest stands before them
    hatched = kit.bars(
        np.sqrt(cut),
        places,
        "@muted/0.12",
        hover="cut away: %{customdata}",
        marker={"line": {"width": 0}, "pattern": {"shape": "/", "fgcolor": "@muted", "size": 5, "solidity": 0.25}},
        customdata=[f"'{label}' {percent(p)}" for label, p in zip(rows.labels, cut.tolist(), strict=True)],
        width=ghosts.WIDE,
        orientation="h",
        xaxis=axis,
    )
    moved = np.where((np.abs(after - before) > 1e-4) & (i > 0), np.sqrt(before), np.nan)
    bars = ghosts.bars_with_ghosts(
        moved.tolist(),
        lengths.tolist(),
        rows.labels,
        colours,
        said=lambda root: percent(root**2),
        lying=True,
        xaxis=axis,
    )
    words = [percent(p) if p else "" for p in after.tolist()]
    return [hatched, *bars, ghosts.numbers_beside(moved.tolist(), lengths.tolist(), words, xaxis=axis)]


def token_label(result: NextToken, place: int) -> str:
    """The token at a place; empty where its name is not kept."""
    name = result.names.get(place)
    return "" if name is None else label(name, CHARACTERS)


def column_headings(result: NextToken) -> list[str]:
    """The heading of each column, in two lines: the filter with its setting, and how many tokens a cutting one
    leaves."""
    sampling, left = result.sampling, dict(zip(FILTERS, result.left.tolist(), strict=True))
    on = {
        "softmax": f"<b>the model</b><br>{left['softmax']:,} tokens",
        "repetition penalty": f"<b>repetition<br>penalty</b> {sampling.repetition_penalty:g}",
        "temperature": f"<b>temperature</b><br>{sampling.temperature:g}",
        "top-k": f"<b>top-k</b> {sampling.top_k}<br>{left['top-k']:,} left",
        "top-p": f"<b>top-p</b> {sampling.top_p:g}<br>{left['top-p']:,} left",
        "min-p": f"<b>min-p</b> {sampling.min_p:g}<br>{left['min-p']:,} left",
    }
    off = {name: f"{name}<br>off" for name in FILTERS} | {"repetition penalty": "repetition<br>penalty off"}
    return [(on if is_on else off)[name] for name, is_on in zip(FILTERS, result.is_on, strict=True)]


def draw_figure(result: NextToken, height: int) -> go.Figure:
    """The probabilities laid end to end, the largest first, as the model gave them and after all filters; and u."""
    data = []
    for row, name in ((0, "the model's own"), (len(result.probabilities) - 1, "after all filters")):
        starts, widths, places = segments(result.probabilities[row], result.place)
        texts = [token_label(result, at) for at in places]
        cut = [at >= 0 and bool(result.probabilities[-1, at] == 0) for at in places]
        data.append(
            kit.bars(
                widths,
                [name] * len(widths),
                [
                    _segment_colour(i, at, result.place, out)
                    for i, (at, out) in enumerate(zip(places, cut, strict=True))
                ],
                marker={"line": {"width": 1, "color": "@paper"}},
                hover="%{customdata}: from %{base:.4f}, %{x:.4f} wide",
                orientation="h",
                base=starts,
                text=[text if w > WIDE else "" for text, w in zip(texts, widths, strict=True)],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="inside",
                insidetextfont={"family": theme.MONO, "size": 12, "color": "@ink"},
                customdata=[text or "all others" for text in texts],
            )
        )
    u = kit.stroke(result.u, result.u, 0, 1.06, "@accent", width=2.5, paper="y", xref="x")
    note = kit.note(
        f"<b>u = {result.u:.4f}</b>", result.u, 1.06, "@accent", size=13, paper="y", xref="x", yanchor="bottom"
    )
    layout = theme.base_layout(
        height,
        barmode="overlay",
        bargap=0.3,
        showlegend=False,
        uniformtext={"mode": "hide", "minsize": 12},  # words that do not fit into their part, as on a phone
        margin={"l": 8, "r": 16, "t": 34, "b": 40},
        xaxis=kit.axis({"text": "cumulative probability", "standoff": 4}, [0, 1]),
        yaxis=kit.axis(grid=False, autorange="reversed", tickfont={"size": 12, "color": "@ink"}),
        shapes=[u],
        annotations=[note],
    )
    return theme.build(data, layout)


def segments(p: Float[ndarray, " vocab"], drawn: int) -> tuple[list[float], list[float], list[int]]:
    """Start, width and place of each part of a cumulative bar, the largest first; place -1: many small ones."""
    order = np.argsort(-p, kind="stable")
    order = order[p[order] > 0]
    widths = p[order].astype(float)
    starts = np.cumsum(widths) - widths
    alone = list(range(min(SEGMENTS, len(order))))
    alone += [int(i) for i in np.flatnonzero(order == drawn) if i >= SEGMENTS]
    parts: list[tuple[float, float, int]] = []
    end = 0.0
    for before, i in pairwise([-1, *alone, len(order)]):
        last = i == len(order)
        if i > before + 1:  # many small ones in between
            stop = float(starts[-1] + widths[-1]) if last else float(starts[i])
            parts.append((end, stop - end, -1))
        if not last:
            parts.append((float(starts[i]), float(widths[i]), int(order[i])))
            end = float(starts[i] + widths[i])
    columns = [list(column) for column in zip(*parts, strict=True)]
    return columns[0], columns[1], columns[2]


def _segment_colour(i: int, place: int, drawn: int, is_cut: bool) -> str:
    if place == drawn:
        return "@accent/0.55"
    if place < 0 or is_cut:
        return "@muted/0.25" if i % 2 else "@muted/0.4"
    return "@embedding/0.4" if i % 2 else "@embedding/0.65"


def ranks_figure(result: NextToken, height: int) -> go.Figure:
    """Every token there is by its rank, before and after the filters, both axes logarithmic."""
    own, last = (np.sort(row)[::-1] for row in (result.probabilities[0], result.probabilities[-1]))
    last = last[last > 0]
    p = float(result.probabilities[-1, result.place])
    data = [
        _ranks(own, "the model's own", {"color": "@muted", "width": 2.5}),
        {
            **_ranks(last, "after all filters", {"color": "@embedding", "width": 2.5}),
            "mode": "lines+markers",
            "marker": {"size": 5, "color": "@embedding"},
        },
        kit.dots([1 + int((result.probabilities[-1] > p).sum())], [p], "@accent", name="drawn", size=11, hover=False),
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "rank of the token",
            [-0.1, float(np.log10(len(own))) + 0.1],
            log=True,
            tickvals=[1, 10, 100, 1_000, 10_000, 100_000],
        ),
        yaxis=kit.axis("probability", [-8.3, 0.3], log=True, dtick=2, exponentformat="power"),
    )
    return theme.build(data, layout)


def drawn_ranks(count: int) -> Int[ndarray, " drawn"]:
    """The ranks that are drawn of `count`: the first ones all, later ones ever further apart, the last one."""
    later = np.geomspace(FIRST_RANKS, max(count, FIRST_RANKS), LATER_RANKS).round().astype(np.int64)
    ranks = np.union1d(np.arange(1, FIRST_RANKS + 1), later)
    return ranks[ranks <= count]


def _ranks(p: Float[ndarray, " rank"], name: str, line: dict[str, Any]) -> dict[str, Any]:
    ranks = drawn_ranks(len(p))
    return kit.line(
        ranks,
        p[ranks - 1].astype(np.float32),
        name=name,
        line=line,
        hovertemplate="rank %{x}: %{y:.2e}<extra>" + name + "</extra>",
    )
