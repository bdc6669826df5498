"""The river: streams of tokens through the layers of a model, ribbons between them, heads that can be changed, the next
tokens at its mouth. The scene river.js draws it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from jaxtyping import Float

from tfcore.charts.theme import HEAD_KINDS
from tfcore.measures.quantities import counted
from tfcore.views.inside.flow.measure.columns import Column
from tfcore.views.inside.flow.measure.heads import Cell, HeadEffects
from tfcore.views.inside.flow.measure.routes import Flow
from tfcore.views.inside.flow.measure.shares import Factors
from tfcore.views.view import Scene

LOUDER = {"broad": "@muted/0.75", "local": "@head6/0.75"}  # than where heads are cells of a map
HEADER, TALLEST, WIDTHS = 115, 26, 360  # pixels: above and below the tokens; of a token, and of all of them
SHORT = 18  # tokens of a text whose tokens all have a row of their own
FEWEST, MOST = 6, 12  # that have one in a longer text
THIN = 0.005  # share of the state below which a stream needs none


@dataclass(frozen=True, slots=True, kw_only=True)
class Mouth:
    """The next tokens, into which the river flows.

    Args:
        following: the most probable ones with the probabilities with which they are drawn, the first first.
        former: the probabilities of the same by the model as it is; None where nothing was changed.
        drawing: how, in words; nothing where that is as the model says.
        word, against: the places of the token that is measured, and of the one it is compared with.
        tracing: whether the logit of one can be traced.
    """

    following: Sequence[tuple[str, float]] = ()
    former: Sequence[float] | None = None
    drawing: str = ""
    word: int | None = None
    against: int | None = None
    tracing: bool = False


def carrying(stream: Float[np.ndarray, "stage seq"], target: int) -> list[int]:
    """The places of the tokens that have a row of their own: all of few, of many those whose streams carry most.

    Args:
        stream: shares of the state, before each layer and after the last one.
        target: the token that is explained, which has one.
    """
    widest = stream.max(axis=0)  # seq
    if len(widest) <= SHORT:
        return list(range(len(widest)))
    order = sorted(range(len(widest)), key=lambda one: (one != target, -widest[one]))
    return sorted(one for place, one in enumerate(order[:MOST]) if place < FEWEST or widest[one] >= THIN)


def river_scene(
    tokens: Sequence[str],
    flow: Flow,
    columns: Sequence[Column],
    effects: HeadEffects,
    kinds: Sequence[Sequence[str]],
    factors: Factors,
    guesses: Sequence[tuple[str, float] | None],
    mouth: Mouth,
    *,
    measure: str,
    whole: str,
    zoom: Sequence[int] = (),
    weights: Sequence[tuple[int, int, float]] | None = None,
    cell: Cell | None = None,
) -> Scene:
    """The river of a text.

    Args:
        tokens: of the text, as plain text.
        flow: of the state or the logit that is explained.
        columns: its layers, open or folded.
        kinds: of the heads, by layer and head; empty where there is none.
        factors: heads that are changed.
        guesses: after each layer the top prediction and its probability; None where there is none.
        measure: what the effects are of, in words.
        whole: what widths are shares of, in words.
        zoom: the layer that is enlarged, or it and a head, or both and the places of two tokens; none: the river.
        weights: of that head: query, key and attention weight.
        cell: of that head, at these tokens.
    """
    named = sorted({one for row in kinds for one in row if one})
    kept = carrying(flow.stream, flow.target)
    values = [[round(float(effect), 3) for effect in layer] for layer in effects.values]
    ribbons = [[[one.query, one.key, round(one.share, 4), one.head] for one in column.ribbons] for column in columns]
    data = {
        "tokens": list(tokens),
        "target": flow.target,
        "kept": kept if len(kept) < len(tokens) else None,
        "layers": [name if " " in name else f"layer {name}" for name in flow.layers],
        "columns": [
            {"first": column.first, "last": column.last, "open": column.open, "ribbons": flows}
            for column, flows in zip(columns, ribbons, strict=True)
        ],
        "stream": flow.stream.round(4).tolist(),
        "feedforward": flow.feedforward.round(4).tolist(),
        "effects": values,
        "exact": effects.exact.tolist(),
        "largest": float(abs(effects.values).max(initial=0.0)) or 1.0,
        "measure": measure,
        "kinds": [list(row) for row in kinds],
        "hues": {kind: LOUDER.get(kind, HEAD_KINDS[kind]) for kind in named},
        "factors": {f"{layer}.{head}": by for (layer, head), by in factors.items()},
        "guesses": [one and [one[0], round(one[1], 4)] for one in guesses],
        "next": [[token, round(probability, 5)] for token, probability in mouth.following],
        "former": mouth.former and [round(one, 5) for one in mouth.former],
        "drawing": mouth.drawing,
        "word": mouth.word,
        "against": mouth.against,
        "whole": whole,
        "traced": bool(flow.toward),
        "tracing": mouth.tracing,
        "zoom": _enlarged(zoom, weights, cell) if zoom else None,
        "label": f"The flow of information through {counted(len(tokens), 'token')} and {len(flow.layers)} layers",
    }
    alone = groupby(place in kept for place in range(len(tokens)))
    rows = sum(len(list(same)) if own else 1 for own, same in alone)  # neighbours without a row of their own share one
    height = HEADER + rows * max(15, min(TALLEST, WIDTHS // rows))
    return Scene(module="river", data=data, height=height)


def _enlarged(zoom: Sequence[int], weights: Sequence[tuple[int, int, float]] | None, cell: Cell | None) -> object:
    layer, head, *pair = zoom if zoom[1:] else (*zoom, None)
    found = {"layer": layer, "head": head, "weights": weights, "pair": pair or None}
    if cell is None:
        return found
    numbers = {"scale": cell.scale, "score": round(cell.score, 4), "rest": cell.rest, "weight": round(cell.weight, 4)}
    return found | {"cell": {"q": cell.q.round(4).tolist(), "k": cell.k.round(4).tolist(), **numbers}}
