"""Circuits of two heads: composition scores, path patching, prefix matching and copying of every head."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.heads.compositions import Composition
from tfcore.measures.heads.induction_heads import HeadTests, Place
from tfcore.views.inside.induction.measure.circuit import PatchedRun, places_of_drawn

COLOURS = {"query": "@query", "key": "@key", "value": "@value"}
LETTER = {"query": "Q", "key": "K", "value": "V"}
NAMED = 4  # pairs of each kind that are labelled
NEAR_X = 0.14  # dots nearer than that share a label
NEAR_Y = 0.12
LISTED = 3  # names in one label; of more, the first and their number
PATCHED = {"none": "no patch", "query": "Q patched", "key": "K patched", "value": "V patched", "all": "heads ablated"}


def strips_figure(
    result: Composition, layer: int, senders: Collection[Place], receivers: Collection[Place], height: int
) -> go.Figure:
    """Every pair of a head of `layer` and one below it as a dot, a strip for Q, K and V; pairs of a sender (a
    previous-token head) and a receiver (an induction head) are filled, the rest is hollow. Of very many pairs some are
    drawn, see `places_of_drawn`, and the filled ones.

    Args:
        height: in pixels.
    """
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for row, (kind, scores) in enumerate(result.scores.items()):
        pairs = [(int(head), (int(below), int(other))) for head, below, other in np.ndindex(scores.shape)]
        in_circuit = {i for i, (head, wrote) in enumerate(pairs) if (layer, head) in receivers and wrote in senders}
        dots = sorted({*places_of_drawn(scores), *in_circuit})
        places = [pairs[i] for i in dots]
        x = scores.ravel()[dots]
        y = row + _jitter(x)
        words = [f"{below}.{other} → {layer}.{head}" for head, (below, other) in places]
        circuit = [i in in_circuit for i in dots]
        for chosen, symbol, size in ((False, "circle-open", 6), (True, "diamond", 12)):
            at = [i for i, is_circuit in enumerate(circuit) if is_circuit == chosen]
            data.append(
                kit.dots(
                    x[at].astype(np.float32),
                    y[at].astype(np.float32),
                    COLOURS[kind],
                    symbol=symbol,
                    size=size,
                    text=[words[i] for i in at],
                    showlegend=False,
                    hovertemplate="%{text}: %{x:.3f}<extra>" + LETTER[kind] + "-composition</extra>",
                )
            )
        best = [i for i in np.argsort(-x)[:NAMED] if x[i] > result.random + 6 * result.spread]
        notes += [_name(float(x[i]), float(y[i]), words[i]) for i in best]
    top = max(float(scores.max()) for scores in result.scores.values())
    band = kit.box(
        result.random - 2 * result.spread,
        result.random + 2 * result.spread,
        0,
        1,
        "@muted/0.3",
        width=0,
        below=True,
        paper="y",
    )
    label = kit.note(f"random matrices: {result.random:.3f}", result.random, 1, paper="y", yanchor="bottom")
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("composition score ‖A B‖ / (‖A‖ ‖B‖)", [0, 1.32 * top]),
        yaxis=kit.axis(
            None,
            [2.5, -0.5],
            grid=False,
            tickvals=[0, 1, 2],
            ticktext=[f"{LETTER[k]}-composition" for k in result.scores],
        ),
        shapes=[band],
        annotations=[label, *notes],
    )
    return theme.build(data, layout)


def _jitter(values: np.ndarray) -> np.ndarray:
    """How far each dot is moved up or down, so that dots do not lie on each other: by its rank in turn."""
    rank = np.argsort(np.argsort(values))
    return (rank * 4 % 9 - 4) / 4 * 0.36


def _name(x: float, y: float, words: str) -> dict[str, Any]:
    return kit.note(words, x, y, "@ink", size=11, xanchor="left", xshift=8)


def path_patching_figure(runs: Sequence[PatchedRun], uniform_loss: float, height: int) -> go.Figure:
    """Path patching: the receivers' induction weight and the loss on the second copy, a bar for each patched input.

    Args:
        uniform_loss: of a uniform guess, nats.
        height: in pixels.
    """
    names = [PATCHED[run.patched] for run in runs]
    colours = [COLOURS.get(run.patched, "@muted") for run in runs]
    panels = (([run.induction for run in runs], "", ".2f"), ([run.second_loss for run in runs], "2", ".2f"))
    data: list[dict[str, Any]] = [
        kit.bars(
            values,
            names,
            colours,
            hover=f"%{{y}}: %{{x:{digits}}}",
            orientation="h",
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
            texttemplate=f"%{{x:{digits}}}",
            textposition="outside",
            cliponaxis=False,
            showlegend=False,
        )
        for values, axis, digits in panels
    ]
    top = 1.4 * max(uniform_loss, *(run.second_loss for run in runs))
    names_axis = {"autorange": "reversed", "showgrid": False, "fixedrange": True}
    line = kit.upright(uniform_loss, width=1, dash="dot", xref="x2")
    note = kit.note("uniform", uniform_loss, 1, size=11, paper="y", xref="x2", yanchor="bottom")
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("induction weight", [0, 1.2], fixed=True, domain=[0, 0.43]),
        xaxis2=kit.axis("loss, second copy", [0, top], fixed=True, domain=[0.57, 1]),
        yaxis=names_axis,
        yaxis2={**names_axis, "anchor": "x2", "showticklabels": False},
        shapes=[line],
        annotations=[note],
        bargap=0.3,
    )
    return theme.build(data, layout)


def head_tests_figure(
    result: HeadTests, selected: Collection[Place], tokens: int, height: int, by_rank: bool = False
) -> go.Figure:
    """Every head as a dot: prefix matching across, copying up; by their scores, or by rank.

    Args:
        selected: the heads that stand out and carry their names.
        tokens: of the text; a head that raises all of them alike has the copying score 2 / tokens - 1, and is first in
            1 / tokens of the cases.
    """
    x, y = (result.prefix_first, result.copying_first) if by_rank else (result.prefix, result.copying)
    digits = ".0%" if by_rank else ".2f"
    places = [(int(layer), int(head)) for layer, head in np.ndindex(x.shape)]
    data: list[dict[str, Any]] = []
    for chosen in (False, True):
        some = [place for place in places if (place in selected) == chosen]
        data.append(
            kit.dots(
                [float(x[p]) for p in some],
                [float(y[p]) for p in some],
                "@attention",
                symbol="diamond" if chosen else "circle-open",
                size=12 if chosen else 8,
                hover=f"%{{text}}: prefix matching %{{x:{digits}}}, copying %{{y:{digits}}}, "
                "mean rank %{customdata:.1f}",
                showlegend=False,
                text=[f"head {p[0]}.{p[1]}" for p in some],
                customdata=[float(result.copying_rank[p]) for p in some],
            )
        )
    uniform = 1 / max(tokens, 1) if by_rank else 2 / max(tokens, 1) - 1
    low = -0.06 if by_rank else min(-1.0, float(y.min())) - 0.06
    high = 1.16 if by_rank else math.ceil(10 * (max(0.0, float(y.max())) + 0.15)) / 10
    titles = (
        ("queries with the largest weight on the right token", "tokens whose logit is raised most")
        if by_rank
        else ("prefix matching: attends to the right token", "copying: raises that token's logit")
    )
    format_ = {"tickformat": ".0%", "dtick": 0.25, "tick0": 0} if by_rank else {}
    chance = f"by chance: {uniform:.0%}" if by_rank else f"raises all tokens alike: {uniform:.2f}"
    line = kit.across(uniform, width=1, dash="dot")
    note = kit.note(chance, 0.5, uniform, size=11, paper="x", xanchor="center", yanchor="bottom")
    layout = theme.base_layout(
        height,
        xaxis={"title": titles[0], "range": [-0.05, 1.08], **format_},
        yaxis={"title": titles[1], "range": [low, high], **format_},
        shapes=[line],
        annotations=[note, *_names([p for p in places if p in selected], x, y)],
    )
    return theme.build(data, layout)


def _names(selected: Sequence[Place], x: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Names of the heads above their dots; one line of names where dots lie close together."""
    groups: list[list[Place]] = []
    for place in selected:
        near = (g for g in groups if abs(x[g[0]] - x[place]) < NEAR_X and abs(y[g[0]] - y[place]) < NEAR_Y)
        group = next(near, None)
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return [
        kit.note(
            _listed(sorted(group, key=lambda p: -x[p])),
            float(np.mean([x[p] for p in group])),
            float(np.max([y[p] for p in group])),
            "@ink",
            xanchor="center",
            yshift=16,
        )
        for group in groups
    ]


def _listed(heads: Sequence[Place]) -> str:
    """Heads in a label: all of them, or the first and how many more."""
    names = [f"{layer}.{head}" for layer, head in heads]
    return ", ".join(names) if len(names) <= LISTED else f"{names[0]} and {len(names) - 1} more"
