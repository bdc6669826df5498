"""Pictures of byte-pair encoding: merges as rows of pieces, what more merges bring, and characters per token."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.tokens import label_room
from tfcore.views.foundations.tokens.measure.bpe import LearnedMerge, MergeStep
from tfcore.views.foundations.tokens.measure.text_pieces import Density

Label = Callable[[bytes], str]  # a piece as it is written, safe for plotly
HALF = 0.38  # of a row, that a piece is high
SMALLEST = 9  # letters, in pixels
LARGEST = 17  # letters, in pixels
ROWS = 6  # at least, so that a word of few merges has no boxes as high as the picture


def merges_figure(steps: Sequence[MergeStep], now: int, label: Label, height: int) -> go.Figure:
    """One row a merge, from single bytes at the top: boxes are pieces, the filled one was just made.

    Args:
        steps: from `replay`.
        now: the last step shown in full; later rows are only outlined.
        label: writes a piece.
        height: in pixels.
    """
    rows = [_spans(step) for step in steps]
    made = [_made(before, after) for before, after in zip([[], *rows[:-1]], rows, strict=True)]
    width = rows[0][-1][1] if rows[0] else 1
    later = [span for y, row in enumerate(rows) if y > now for span in _boxes(row, y)]
    shown = [span for y, row in enumerate(rows) if y <= now for span in _boxes(row, y)]
    new = [span for y in range(1, now + 1) for span in _boxes(made[y], y)]
    traces = [
        _outline(later, "@grid"),
        {**_outline(new, "@embedding"), "fill": "toself", "fillcolor": "@embedding/0.45"},
        _outline(shown, "@embedding"),
        _letters(rows[: now + 1], steps, label, height, width),
    ]
    names = ["bytes", *(f"{step.rank:,}: {_pair(step.pair, label)}" for step in steps[1:])]
    axis = {"showgrid": False, "fixedrange": True, "automargin": False}
    font = {"family": theme.MONO, "size": 11, "color": "@muted"}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "range": [-0.1, width + 0.1], "showticklabels": False},
        yaxis={
            **axis,
            "range": [max(len(rows), ROWS) - 0.4, -0.6],
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": names,
            "tickfont": font,
        },
        margin={"l": label_room(names) + 8, "r": 4, "t": 4, "b": 8},
        showlegend=False,
    )
    return theme.build(traces, layout)


Span = tuple[int, int, bytes]


def _spans(step: MergeStep) -> list[Span]:
    """(first byte, end, piece) of every piece."""
    ends = np.cumsum([len(piece) for piece in step.pieces]).tolist()
    return [(end - len(piece), end, piece) for end, piece in zip(ends, step.pieces, strict=True)]


def _made(before: Sequence[Span], after: Sequence[Span]) -> list[Span]:
    known = set(before)
    return [span for span in after if span not in known]


def _boxes(row: Sequence[Span], y: int) -> list[tuple[float, float, float]]:
    return [(first + 0.06, end - 0.06, y) for first, end, _ in row]


def _outline(boxes: Sequence[tuple[float, float, float]], colour: str) -> dict[str, Any]:
    """Rectangles as one line with gaps."""
    x = [c for left, right, _ in boxes for c in (left, right, right, left, left, None)] or [None]
    y = [c for *_, at in boxes for c in (at - HALF, at - HALF, at + HALF, at + HALF, at - HALF, None)] or [None]
    return kit.line(x, y, colour, width=1.2, hover=False)


def _letters(
    rows: Sequence[Sequence[Span]], steps: Sequence[MergeStep], label: Label, height: int, width: int
) -> dict[str, Any]:
    spans = [(first, end, piece, y) for y, row in enumerate(rows) for first, end, piece in row]
    size = int(min(LARGEST, 0.55 * height / max(len(steps), 1), 620 / max(width, 1)))
    return kit.words(
        [(first + end) / 2 for first, end, *_ in spans],
        [y for *_, y in spans],
        [label(piece) for _, _, piece, _ in spans],
        "@ink",
        family=theme.MONO,
        size=max(size, SMALLEST),
        hover="'%{text}', %{customdata} bytes",
        customdata=[end - first for first, end, *_ in spans],
    )


def _pair(pair: tuple[bytes, bytes] | None, label: Label) -> str:
    return "" if pair is None else f"{label(pair[0])} + {label(pair[1])}"


def vocabulary_figure(steps: Sequence[MergeStep], now: int, merges: int, height: int) -> go.Figure:
    """How many pieces the text has when only the first merges of the list are known.

    Args:
        steps: from `replay`.
        now: the step that is marked.
        merges: length of the whole list.
        height: in pixels.
    """
    known = [1, *(step.rank + 1 for step in steps[1:] if step.rank is not None), merges]
    pieces = [*(len(step.pieces) for step in steps), len(steps[-1].pieces)]
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": known,
        "y": pieces,
        "line": {"color": "@embedding", "shape": "hv"},
        "hovertemplate": "first %{x:,} merges: %{y} pieces<extra></extra>",
    }
    dot = kit.dots([known[now]], [pieces[now]], "@accent", size=11, hover=False)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("merges known", [-0.05, float(np.log10(merges)) + 0.05], log=True, tickvals=[1, 10, 100, 1000]),
        yaxis=kit.axis("pieces", [0, pieces[0] * 1.08]),
        margin={"t": 8},
        showlegend=False,
    )
    return theme.build([line, dot], layout)


def pairs_figure(learned: LearnedMerge, label: Label, height: int) -> go.Figure:
    """The counts that decided a merge: the most frequent pair in full colour, the next ones pale."""
    counts = [(learned.pair, learned.count), *learned.runners_up]
    names = [_pair(pair, label) for pair, _ in counts]
    trace = kit.bars(
        [count for _, count in counts],
        list(range(len(counts))),
        ["@embedding", *["@embedding/0.35"] * (len(counts) - 1)],
        hover="%{customdata} stands there %{x} times",
        orientation="h",
        text=[c for _, c in counts],
        textposition="outside",
        cliponaxis=False,
        customdata=names,
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("times it stands in the text", [0, 1.12 * learned.count]),
        yaxis=kit.axis(
            grid=False,
            autorange="reversed",
            tickmode="array",
            tickvals=list(range(len(counts))),
            ticktext=names,
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
        ),
        margin={"t": 8, "r": 32},
    )
    return theme.build([trace], layout)


def learning_figure(lengths: Sequence[int], now: int, height: int) -> go.Figure:
    """How many tokens the text has after 0, 1, 2 ... merges."""
    tokens = np.array(lengths)
    line = kit.line(np.arange(len(tokens)), tokens, "@embedding", hover="after %{x} merges: %{y} tokens")
    dot = kit.dots([now], [tokens[now]], "@accent", size=11, hover=False)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("merges learned", [-1, len(tokens)]),
        yaxis=kit.axis("tokens of the text", [0, int(tokens[0]) * 1.06 + 1]),
        margin={"t": 8},
        showlegend=False,
    )
    return theme.build([line, dot], layout)


def density_figure(densities: Sequence[Density], height: int) -> go.Figure:
    """Characters per token of several texts as bars, the first one in full colour."""
    names = [one.name for one in densities]
    trace = kit.bars(
        [one.per_token for one in densities],
        names,
        ["@embedding", *["@embedding/0.4"] * (len(names) - 1)],
        hover="%{customdata[0]} characters, %{customdata[1]} bytes, %{customdata[2]} tokens",
        orientation="h",
        text=[f"{one.per_token:.2f}" for one in densities],
        textposition="outside",
        cliponaxis=False,
        customdata=[[one.characters, one.data_bytes, one.tokens] for one in densities],
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "characters per token", [0, max(5.4, 1.15 * max((one.per_token for one in densities), default=0))], dtick=1
        ),
        yaxis=kit.axis(grid=False, autorange="reversed", tickfont={"size": 12, "color": "@ink"}),
        margin={"t": 8, "r": 36},
        bargap=0.3,
    )
    return theme.build([trace], layout)
