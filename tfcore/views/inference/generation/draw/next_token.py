"""Pictures of one step of generation: the distribution after each filter, where the draw falls, and all ranks."""

from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.charts import ghosts, kit, theme
from tfcore.charts.tokens import SLANT, label_room, ticks
from tfcore.measures.token_text import label
from tfcore.views.inference.generation.measure.next_token import FILTERS, NextToken

SHOWN = 20  # tokens with a bar of their own
FIRST_RANKS, LATER_RANKS = 300, 200  # points of a curve over all ranks
CHARACTERS = 14  # of a token in a label
OTHERS = "all others"
GAP = 0.05  # of the height, above each row, for its words
HIGH_BAR = 0.6  # of the axis: above, there is no room over a bar for a word
SEGMENTS = 40  # of a cumulative bar, before the rest is taken together
WIDE = 0.045  # of a segment that has room for its token


def filters_figure(result: NextToken, height: int) -> go.Figure:
    """One row of bars for each filter: what is left, what it cut away (hatched), and as outlines the bars before it."""
    p, labels, words = result.probabilities, first_labels(result), row_headings(result)
    n, left = len(labels), result.left.tolist()  # once: each takes a pass over the whole vocabulary
    rows = np.column_stack((p[:, :n], p[:, n:].sum(-1)))  # (filter, n + 1)
    top = highest(float(rows[:, :n].max()))
    names, high = [*labels, OTHERS], (1 + GAP) / len(p)
    room = label_room(names, SLANT)
    layout = theme.base_layout(
        height,
        barmode="overlay",
        bargap=0.25,
        showlegend=False,
        margin={"l": 48, "r": 8, "t": 26, "b": room},
        xaxis={
            **ticks(names, n + 1),
            "tickangle": -SLANT,
            "range": [-0.6, n + 0.6],
            "showgrid": False,
            "anchor": f"y{len(p)}",
            "automargin": False,
        },
    )
    data, notes, shapes = list[dict[str, Any]](), list[dict[str, Any]](), list[dict[str, Any]]()
    for i, row in enumerate(rows):
        axis = "" if i == 0 else str(i + 1)
        low = 1 - (i + 1) * high + GAP
        layout[f"yaxis{axis}"] = theme.base_layout(
            1,
            yaxis=kit.axis(
                None,
                [0, top],
                fixed=True,
                domain=[max(low, 0.0), low + high - GAP],
                tickvals=[0, top],
                anchor="x",
                automargin=False,
            ),
        )["yaxis"]
        fewer = left[i] < left[max(i - 1, 0)]
        data += _row(result, i, row, rows[max(i - 1, 0)], f"y{axis}", names, fewer)
        faint = i and not result.is_on[i]
        notes.append(
            kit.note(
                words[i],
                0,
                low + high - GAP,
                "@muted" if faint else "@ink",
                paper="xy",
                yanchor="bottom",
                xanchor="left",
            )
        )
        if row[n] > top:  # the bar of all others leaves the axis
            high_bar = kit.note(f"{row[n]:.0%}", n, top, None, size=None, yanchor="top")
            notes.append({"xref": "x", "yref": f"y{axis}", **high_bar, "font": {"size": 11, "color": "@paper"}})
        if result.is_on[i] and left[i] < n:
            shapes.append(
                kit.stroke(
                    left[i] - 0.5, left[i] - 0.5, 0, top, "@ink", width=1.5, dash="dot", xref="x", yref=f"y{axis}"
                )
            )
    drawn = min(result.place, n)  # a token without a bar of its own is among all others
    notes.append(_drawn(drawn, float(rows[-1, drawn]), top, f"y{len(p)}"))
    layout |= {"annotations": notes, "shapes": shapes}
    return theme.build(data, layout)


def _drawn(place: int, p: float, top: float, axis: str) -> dict[str, Any]:
    """The word on the bar that was drawn: above it, or in it, where it is so high that the heading is near."""
    if p > HIGH_BAR * top:
        inside = {"y": 0, "textangle": -90, "yanchor": "bottom", "showarrow": False}
        where = {**inside, "font": {"size": 11, "color": "@paper"}}
    else:
        arrow = {"y": p, "showarrow": True, "arrowhead": 0, "arrowcolor": "@accent", "ax": 0, "ay": -16}
        where = {**arrow, "font": {"size": 12, "color": "@accent"}}
    return {"xref": "x", "yref": axis, "x": place, "text": "drawn", **where}


def first_labels(result: NextToken) -> list[str]:
    """Labels of the most likely tokens, one a place."""
    return [token_label(result, place) for place in range(min(SHOWN, max(result.names) + 1))]


def token_label(result: NextToken, place: int) -> str:
    """The token at a place; empty where its name is not kept."""
    name = result.names.get(place)
    return "" if name is None else label(name, CHARACTERS)


def row_headings(result: NextToken) -> list[str]:
    """The heading of each row: the filter, its setting, and how many tokens it leaves."""
    sampling = result.sampling
    settings = {
        "repetition penalty": f"{sampling.repetition_penalty:g}: tokens that occurred lose",
        "temperature": f"{sampling.temperature:g}: " + ("sharper" if sampling.temperature < 1 else "flatter"),
        "top-k": f"{sampling.top_k}: the first {sampling.top_k}",
        "top-p": f"{sampling.top_p:g}: the first that reach {sampling.top_p:.0%}",
        "min-p": f"{sampling.min_p:g}: at least {sampling.min_p:.0%} of the best",
    }
    return [f"<b>the model</b>: {result.probabilities.shape[1]:,} tokens"] + [
        f"<b>{name}</b> {settings[name]} → {left:,} left" if is_on else f"{name}: off"
        for name, is_on, left in zip(FILTERS[1:], result.is_on[1:], result.left[1:], strict=True)
    ]


def highest(p: float) -> float:
    """The end of an axis for probabilities: 0.1, 0.2, 0.4, 0.6, 0.8 or 1, so that it seldom changes."""
    return next((end for end in (0.1, 0.2, 0.4, 0.6, 0.8) if p <= end), 1.0)


def _row(
    result: NextToken, i: int, after: ndarray, before: ndarray, axis: str, names: list[str], fewer: bool
) -> list[dict[str, Any]]:
    """Bars of what is left, hatched ones of what is cut away, and outlines of the bars before."""
    x, on = np.arange(len(after)), i == 0 or result.is_on[i]
    cut = np.where((after == 0) & (before > 0), before, 0.0)
    if fewer:
        cut[-1] = before[-1]  # of the others some go, the rest stands before them
    strength = "" if on else "/0.4"
    colours = [f"@accent{strength}" if place == result.place else f"@embedding{strength}" for place in x]
    if i == 0 or not on:
        hover = "%{customdata}: %{y:.4f}"
        return [
            kit.bars(
                x, after.astype(np.float32), colours, hover=hover, customdata=names, width=ghosts.NARROW, yaxis=axis
            )
        ]
    hatched = kit.bars(
        x,
        cut.astype(np.float32),
        "@muted/0.12",
        hover="cut away, %{customdata}: %{y:.4f}",
        marker={"line": {"width": 0}, "pattern": {"shape": "/", "fgcolor": "@muted", "size": 5, "solidity": 0.25}},
        customdata=names,
        width=ghosts.WIDE,
        yaxis=axis,
    )
    moved = np.where(np.abs(after - before) > 1e-4, before, np.nan)
    return [
        hatched,
        *ghosts.bars_with_ghosts(moved.tolist(), after.tolist(), names, colours, said="{:.4f}".format, yaxis=axis),
    ]


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
