"""Sentences on what each stage of a walk did, with its numbers, and on what its pictures show."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from tfcore.measures.token_text import visible
from tfcore.views.finding import Statement, state
from tfcore.views.start.walkthrough.measure.heads import HeadSteps
from tfcore.views.start.walkthrough.measure.tensors import ShownTensor, StageTensors
from tfcore.views.start.walkthrough.measure.walk import Walk
from tfcore.views.start.walkthrough.say.prediction import logit_range, probability_mass


class _Stage(NamedTuple):
    walk: Walk
    tensors: StageTensors
    tokens: Sequence[str]


def stage_finding(walk: Walk, tensors: StageTensors, stage: str, tokens: Sequence[str]) -> Statement:
    """The effect of a stage of numbers.

    Args:
        tensors: from `stage_tensors`.
        tokens: of the text.
    """
    return _FINDINGS[stage](_Stage(walk, tensors, tokens))


def stage_picture(when: str, stage: str, shown: Sequence[ShownTensor], limit: float) -> Statement:
    """The tensors that are shown before or after a stage, and how to read their colours.

    Args:
        when: "before" or "after".
        limit: the number with full colour, where signed numbers are shown.
    """
    tensors = (
        f"{one.title} ({', '.join(one.axes)}) = ({', '.join(f'{side:,}' for side in one.shape)})" for one in shown
    )
    signed = any(not one.weights and one.columns != "id" for one in shown)
    colours = " Red above 0, blue below, full colour from ±{limit:g}." if signed else ""
    weights = " Violet: a weight from 0 to 1." if any(one.weights for one in shown) else ""
    return state(
        "stage picture",
        "{when} stage {stage}: {tensors}." + colours + weights,
        when=when.capitalize(),
        stage=stage,
        tensors=", ".join(tensors),
        limit=limit,
    )


def strongest_keys(tokens: Sequence[str], steps: HeadSteps) -> list[Statement]:
    """The token that each token of a text attends to most, in one head."""
    told = []
    for query, row in enumerate(steps.weights):
        key = int(np.where(steps.allowed[query], row, -1.0).argmax())
        others = int(steps.allowed[query].sum()) - 1
        share = "s share" if others > 1 else " has"
        rest = (
            f"; {{others}} other token{share} the remaining {{rest:.2f}}."
            if others
            else "; it can attend to nothing else."
        )
        told.append(
            state(
                "strongest key",
                "'{query}' attends most to '{key}': score {score:.2f}, weight {weight:.2f}" + rest,
                query=visible(tokens[query]),
                key=visible(tokens[key]),
                score=float(steps.scores[-1][query, key]),
                weight=float(row[key]),
                others=others,
                rest=1 - float(row[key]),
            )
        )
    return told


def root_mean_square(values: ndarray) -> float:
    """The root of the mean square; 0 where there are no values."""
    return float(np.sqrt(np.square(values, dtype=np.float64).mean())) if values.size else 0.0


class SizeRange(NamedTuple):
    """The smallest and the largest root mean square of a row."""

    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.least:.2f} to {self.most:.2f}"


def _sizes(values: ndarray) -> SizeRange:
    rows = [root_mean_square(row) for row in values]
    return SizeRange(min(rows), max(rows))


def _looked_up(stage: _Stage) -> Statement:
    """Rows of the embedding table: how many, of how many, how wide, and how large."""
    return state(
        "looked up",
        "{rows} rows of a table of {vocab:,} were read, {width} numbers each; their size (root mean square) is "
        "{sizes}.",
        rows=len(stage.tokens),
        vocab=stage.walk.config.vocab_size,
        width=stage.walk.config.embed_size,
        sizes=_sizes(stage.tensors.made.values),
    )


def _resized(stage: _Stage) -> Statement:
    """The sizes of the tokens' vectors before and after."""
    return state(
        "resized",
        "Size of a token's vector (root mean square): {before} before, {after} after.",
        before=_sizes(stage.tensors.read.values),
        after=_sizes(stage.tensors.made.values),
    )


def _added(stage: _Stage) -> Statement:
    """The root mean square of what is added, and of the stream it is added to."""
    stream, added = (root_mean_square(piece.values) for piece in stage.tensors.before)
    return state(
        "added",
        "What is added has {share:.0%} of the stream's size (root mean square {added:.2f} and {stream:.2f}).",
        share=added / stream,
        added=added,
        stream=stream,
    )


def _widened(stage: _Stage) -> Statement:
    """How many numbers each token has before and after."""
    tensors = stage.tensors
    before, after = (sum(piece.values.shape[1] for piece in pieces) for pieces in (tensors.before, tensors.after))
    return state("widened", "Each token's {before} numbers became {after}.", before=before, after=after)


def _split(stage: _Stage) -> Statement:
    """The columns that one head takes of all."""
    config, (first, end) = stage.walk.config, _framed(stage.tensors.read)
    shared = (
        ", of which {kv_heads} pairs of K and V are shared"
        if config.attention.kv_heads < config.attention.n_heads
        else ""
    )
    return state(
        "split",
        "{heads} heads of {width} numbers each" + shared + "; this one took columns {first} to {last} of Q.",
        heads=config.attention.n_heads,
        width=config.head_size,
        kv_heads=config.attention.kv_heads,
        first=first,
        last=end - 1,
    )


def _joined(stage: _Stage) -> Statement:
    """The columns of one head among those of all heads side by side."""
    config, (first, end) = stage.walk.config, _framed(stage.tensors.made)
    return state(
        "joined",
        "{heads} heads of {width} numbers make {all}; this head's are {first} to {last}.",
        heads=config.attention.n_heads,
        width=config.head_size,
        all=stage.tensors.made.values.shape[1],
        first=first,
        last=end - 1,
    )


def _framed(piece: ShownTensor) -> tuple[int, int]:
    assert piece.framed is not None
    return piece.framed


def _rotated(stage: _Stage) -> Statement:
    """By how much the rotation changed the queries."""
    before, after = stage.tensors.read.values, stage.tensors.made.values
    moved = np.abs(after - before).max(axis=1)
    length = float(np.abs(np.linalg.norm(before, axis=1) - np.linalg.norm(after, axis=1)).max())
    kept = "but for rounding" if length < 1e-4 else "to within {length:.0e}"
    return state(
        "rotated",
        "Position 0 moved by {first:.2f} at most, position {position} by up to {last:.2f}; the lengths stayed, "
        f"{kept}.",
        first=float(moved[0]),
        last=float(moved[-1]),
        position=len(stage.tokens) - 1,
        length=length,
    )


def _largest(stage: _Stage) -> Statement:
    """How many scores a head has, and the pair with the largest."""
    values, tokens = stage.tensors.made.values, stage.tokens
    query, key = (int(place) for place in np.unravel_index(values.argmax(), values.shape))
    return state(
        "largest score",
        "{count} scores, one for each pair; the largest is that of '{query}' ({query_at}) for '{key}' ({key_at}): "
        "{score:.2f}.",
        count=values.size,
        query=visible(tokens[query]),
        query_at=query,
        key=visible(tokens[key]),
        key_at=key,
        score=float(values[query, key]),
    )


def _spread(stage: _Stage) -> Statement:
    """The standard deviation of a head's scores before and after."""
    return state(
        "spread",
        "Standard deviation of this head's scores: {before:.2f} before, {after:.2f} after.",
        before=float(stage.tensors.read.values.std()),
        after=float(stage.tensors.made.values.std()),
    )


def _blocked(stage: _Stage) -> Statement:
    """How many scores are masked, of how many."""
    piece = stage.tensors.made
    return state(
        "blocked",
        "{blocked} of {count} scores became minus infinity.",
        blocked=0 if piece.blocked is None else int(piece.blocked.sum()),
        count=piece.values.size,
    )


def _last_row(stage: _Stage, weights: ndarray, template: str) -> Statement:
    """The largest attention weight of the last token, and how many rows of V the mask lets it average."""
    key = int(weights[-1].argmax())
    return state(
        "last row",
        template,
        token=visible(stage.tokens[-1]),
        key=visible(stage.tokens[key]),
        key_at=key,
        weight=float(weights[-1, key]),
        mixed=int(stage.walk.tensors["allowed"][len(stage.tokens) - 1].sum()),
    )


def _weighted(stage: _Stage) -> Statement:
    weights = stage.tensors.made.values
    if stage.walk.config.attention.sinks:
        rest = f"; its row sums to {float(weights[-1].sum()):.2f}, the learned sink takes the rest."
    else:
        rest = "; each row sums to 1."
    most = "The last token, '{token}', attends most to '{key}' ({key_at}), with the weight {weight:.2f}"
    return _last_row(stage, weights, most + rest)


def _averaged(stage: _Stage) -> Statement:
    kind = "a weighted sum" if stage.walk.config.attention.sinks else "an average"
    return _last_row(
        stage,
        stage.tensors.read.values,
        f"Each row is {kind} of rows of V; " + "that of '{token}' mixes {mixed} of them, '{key}' with the weight "
        "{weight:.2f}.",
    )


def activity(before: ndarray, after: ndarray) -> Statement:
    """How many values were above 0 before an activation function, of the gate where there is one, and how many are near
    0 or large after it."""
    usual, sizes = root_mean_square(after), np.abs(after)
    return state(
        "activity",
        "{positive:.0%} of the values were above 0 before; afterwards {near_zero:.0%} are near 0 (below a tenth of "
        "their root mean square) and {large:.0%} exceed the root mean square.",
        positive=float((before > 0).mean()),
        near_zero=float((sizes < 0.1 * usual).mean()),
        large=float((sizes > usual).mean()),
    )


def _cut_off(stage: _Stage) -> Statement:
    """How many numbers of queries, keys and values were cut off."""
    pairs = zip(stage.tensors.before, stage.tensors.after, strict=True)
    numbers = {made.title[0]: float((read.values != made.values).mean()) for read, made in pairs}
    words = "Cut off: {query:.1%} of the numbers of queries, {key:.1%} of keys and {value:.1%} of values."
    return state("cut off", words, query=numbers["Q"], key=numbers["K"], value=numbers["V"])


def _routed(stage: _Stage) -> Statement:
    """The expert with the highest probability for the last token, and that probability."""
    shares = stage.tensors.made.values[-1]
    return state(
        "routed",
        "For the last token, '{token}', expert {expert} has the highest probability: {share:.2f}.",
        token=visible(stage.tokens[-1]),
        expert=int(shares.argmax()),
        share=float(shares.max()),
    )


_FINDINGS: dict[str, Callable[[_Stage], Statement]] = {
    "embedding": _looked_up,
    **dict.fromkeys(
        ("scaling", "embedding-norm", "norm-1", "norm-1-after", "norm-2", "norm-2-after", "norm-3"), _resized
    ),
    **dict.fromkeys(("segments", "positions", "add-1", "add-2", "add-3"), _added),
    **dict.fromkeys(
        ("embedding-projection", "qkv", "output", "up", "down", "experts", "convolution", "mlm-head"), _widened
    ),
    "final-norm": _resized,
    "heads": _split,
    "clip": _cut_off,
    "qk-norm": _resized,
    "rotation": _rotated,
    "scores": _largest,
    **dict.fromkeys(("scaled", "softcap", "bias"), _spread),
    "mask": _blocked,
    "softmax": _weighted,
    "values": _averaged,
    "concat": _joined,
    "activation": lambda stage: activity(stage.tensors.read.values, stage.tensors.made.values),
    "router": _routed,
    "logits": lambda stage: logit_range(stage.walk, stage.tokens),
    "probabilities": lambda stage: probability_mass(stage.walk, stage.tokens),
}
