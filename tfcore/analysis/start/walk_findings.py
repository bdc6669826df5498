"""What each stage of a walk did, in one sentence with its numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.start.walk_prediction import logit_range, probability_mass
from tfcore.analysis.start.walk_tensors import ShownTensor, StageTensors
from tfcore.analysis.start.walkthrough import Walk
from tfcore.measures.token_text import visible


class _Stage(NamedTuple):
    walk: Walk
    tensors: StageTensors
    tokens: Sequence[str]


def stage_finding(walk: Walk, tensors: StageTensors, stage: str, tokens: Sequence[str]) -> Finding:
    """What a stage of numbers did.

    Args:
        tensors: from `stage_tensors`.
        tokens: of the text.
    """
    return _FINDINGS[stage](_Stage(walk, tensors, tokens))


@dataclass(frozen=True, slots=True)
class StagePicture(Finding):
    """What a picture of a stage shows, and how to read its colours.

    Args:
        when, stage: "before" or "after", and the name of the stage.
        tensors: title, axes and shape of each.
        limit: the number with full colour; None where no signed numbers are shown.
        weights: weights from 0 to 1 are shown.
    """

    when: str
    stage: str
    tensors: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...]
    limit: float | None
    weights: bool

    @property
    def sentence(self) -> str:
        listed = ", ".join(
            f"{title} ({', '.join(axes)}) = ({', '.join(f'{side:,}' for side in shape)})"
            for title, axes, shape in self.tensors
        )
        signed = "" if self.limit is None else f" Red above 0, blue below, full colour from ±{self.limit:g}."
        weights = " Violet: a weight from 0 to 1." if self.weights else ""
        return f"{self.when.capitalize()} stage {self.stage}: {listed}.{signed}{weights}"


def stage_picture(when: str, stage: str, shown: Sequence[ShownTensor], limit: float) -> StagePicture:
    """What is shown before or after a stage.

    Args:
        limit: the number with full colour, where signed numbers are shown.
    """
    signed = any(not one.weights and one.columns != "id" for one in shown)
    tensors = tuple((one.title, one.axes, one.shape) for one in shown)
    return StagePicture(when, stage, tensors, limit if signed else None, any(one.weights for one in shown))


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


@dataclass(frozen=True, slots=True)
class LookedUp(Finding):
    """Rows of the embedding table: how many, of how many, how wide, and how large."""

    rows: int
    vocab: int
    d_model: int
    sizes: SizeRange

    @property
    def sentence(self) -> str:
        return (
            f"{self.rows} rows of a table of {self.vocab:,} were read, {self.d_model} numbers each; "
            f"their size (root mean square) is {self.sizes}."
        )


def _looked_up(stage: _Stage) -> LookedUp:
    config = stage.walk.config
    return LookedUp(len(stage.tokens), config.vocab_size, config.d_model, _sizes(stage.tensors.made.values))


@dataclass(frozen=True, slots=True)
class Resized(Finding):
    """The sizes of the tokens' vectors before and after."""

    before: SizeRange
    after: SizeRange

    @property
    def sentence(self) -> str:
        return f"Size of a token's vector (root mean square): {self.before} before, {self.after} after."


def _resized(stage: _Stage) -> Resized:
    return Resized(_sizes(stage.tensors.read.values), _sizes(stage.tensors.made.values))


@dataclass(frozen=True, slots=True)
class Added(Finding):
    """The root mean square of what is added, and of the stream it is added to."""

    added: float
    stream: float

    @property
    def sentence(self) -> str:
        return (
            f"What is added has {self.added / self.stream:.0%} of the stream's size (root mean square "
            f"{self.added:.2f} and {self.stream:.2f})."
        )


def _added(stage: _Stage) -> Added:
    stream, added = stage.tensors.before
    return Added(root_mean_square(added.values), root_mean_square(stream.values))


@dataclass(frozen=True, slots=True)
class Widened(Finding):
    """How many numbers each token has before and after."""

    before: int
    after: int

    @property
    def sentence(self) -> str:
        return f"Each token's {self.before} numbers became {self.after}."


def _widened(stage: _Stage) -> Widened:
    tensors = stage.tensors
    return Widened(*(sum(piece.values.shape[1] for piece in pieces) for pieces in (tensors.before, tensors.after)))


@dataclass(frozen=True, slots=True)
class HeadColumns(Finding):
    """The columns of one head.

    Args:
        heads, kv_heads, d_head: of the model.
        first, last: columns of this head.
        joined: width of all heads side by side; None where they are split.
    """

    heads: int
    kv_heads: int
    d_head: int
    first: int
    last: int
    joined: int | None

    @property
    def sentence(self) -> str:
        each = f"{self.heads} heads of {self.d_head} numbers"
        if self.joined is not None:
            return f"{each} make {self.joined}; this head's are {self.first} to {self.last}."
        shared = f", of which {self.kv_heads} pairs of K and V are shared" if self.kv_heads < self.heads else ""
        return f"{each} each{shared}; this one took columns {self.first} to {self.last} of Q."


def _head_columns(stage: _Stage, piece: ShownTensor, joined: int | None) -> HeadColumns:
    config = stage.walk.config
    assert piece.framed is not None
    first, end = piece.framed
    return HeadColumns(config.n_heads, config.kv_heads, config.head_size, first, end - 1, joined)


@dataclass(frozen=True, slots=True)
class Rotated(Finding):
    """By how much the rotation changed the queries.

    Args:
        first, last: largest change of a number at the first position, and at the last.
        position: the last.
        length: largest change of a query's length.
    """

    first: float
    last: float
    position: int
    length: float

    @property
    def sentence(self) -> str:
        kept = "but for rounding" if self.length < 1e-4 else f"to within {self.length:.0e}"
        return (
            f"Position 0 moved by {self.first:.2f} at most, position {self.position} by up to {self.last:.2f}; "
            f"the lengths stayed, {kept}."
        )


def _rotated(stage: _Stage) -> Rotated:
    before, after = stage.tensors.read.values, stage.tensors.made.values
    moved = np.abs(after - before).max(axis=1)
    length = np.abs(np.linalg.norm(before, axis=1) - np.linalg.norm(after, axis=1)).max()
    return Rotated(float(moved[0]), float(moved[-1]), len(stage.tokens) - 1, float(length))


@dataclass(frozen=True, slots=True)
class LargestScore(Finding):
    """How many scores a head has, and the pair with the largest.

    Args:
        count: of the scores.
        query, query_at, key, key_at: the pair: tokens and positions.
        score: of the pair.
    """

    count: int
    query: str
    query_at: int
    key: str
    key_at: int
    score: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.count} scores, one for each pair; the largest is that of '{visible(self.query)}' ({self.query_at}) "
            f"for '{visible(self.key)}' ({self.key_at}): {self.score:.2f}."
        )


def _largest(stage: _Stage) -> LargestScore:
    values, tokens = stage.tensors.made.values, stage.tokens
    query, key = (int(place) for place in np.unravel_index(values.argmax(), values.shape))
    return LargestScore(values.size, tokens[query], query, tokens[key], key, float(values[query, key]))


@dataclass(frozen=True, slots=True)
class Spread(Finding):
    """The standard deviation of a head's scores before and after."""

    before: float
    after: float

    @property
    def sentence(self) -> str:
        return f"Standard deviation of this head's scores: {self.before:.2f} before, {self.after:.2f} after."


def _spread(stage: _Stage) -> Spread:
    return Spread(float(stage.tensors.read.values.std()), float(stage.tensors.made.values.std()))


@dataclass(frozen=True, slots=True)
class Blocked(Finding):
    """How many scores are masked, of how many."""

    blocked: int
    count: int

    @property
    def sentence(self) -> str:
        return f"{self.blocked} of {self.count} scores became minus infinity."


def _blocked(stage: _Stage) -> Blocked:
    piece = stage.tensors.made
    return Blocked(0 if piece.blocked is None else int(piece.blocked.sum()), piece.values.size)


@dataclass(frozen=True, slots=True)
class LastRow(Finding):
    """The largest attention weight of the last token.

    Args:
        token: the last.
        key, key_at: the token it attends to most.
        weight: how much.
        mixed: number of rows of V that are averaged: those the mask lets through; None at the softmax.
    """

    token: str
    key: str
    key_at: int
    weight: float
    mixed: int | None

    @property
    def sentence(self) -> str:
        token, key, weight = visible(self.token), visible(self.key), f"{self.weight:.2f}"
        if self.mixed is None:
            most = f"attends most to '{key}' ({self.key_at}), with the weight {weight}"
            return f"The last token, '{token}', {most}; each row sums to 1."
        mixed = f"that of '{token}' mixes {self.mixed} of them, '{key}' with the weight {weight}"
        return f"Each row is an average of rows of V; {mixed}."


def _last_row(stage: _Stage, weights: ndarray, mixed: int | None) -> LastRow:
    key = int(weights[-1].argmax())
    return LastRow(stage.tokens[-1], stage.tokens[key], key, float(weights[-1, key]), mixed)


@dataclass(frozen=True, slots=True)
class Activity(Finding):
    """What an activation function leaves of the hidden values of a feed-forward layer.

    Args:
        positive: share of the values before it, of the gate where there is one, that are above 0.
        near_zero: share of the values after it whose size is below a tenth of their root mean square.
        large: share of the values after it whose size is above their root mean square.
    """

    positive: float
    near_zero: float
    large: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.positive:.0%} of the values were above 0 before; afterwards {self.near_zero:.0%} are near 0 (below "
            f"a tenth of their root mean square) and {self.large:.0%} exceed the root mean square."
        )


def activity(before: ndarray, after: ndarray) -> Activity:
    """Count the values before and after an activation function."""
    usual, sizes = root_mean_square(after), np.abs(after)
    shares = (before > 0, sizes < 0.1 * usual, sizes > usual)
    return Activity(*(float(share.mean()) for share in shares))


@dataclass(frozen=True, slots=True)
class Routed(Finding):
    """The expert with the highest probability for the last token, and that probability."""

    token: str
    expert: int
    share: float

    @property
    def sentence(self) -> str:
        token, share = visible(self.token), f"{self.share:.2f}"
        return f"For the last token, '{token}', expert {self.expert} has the highest probability: {share}."


def _routed(stage: _Stage) -> Routed:
    shares = stage.tensors.made.values[-1]
    return Routed(stage.tokens[-1], int(shares.argmax()), float(shares.max()))


_FINDINGS: dict[str, Callable[[_Stage], Finding]] = {
    "embedding": _looked_up,
    **dict.fromkeys(("scaling", "embedding-norm", "norm-1", "norm-1-after", "norm-2", "norm-2-after"), _resized),
    **dict.fromkeys(("segments", "positions", "add-1", "add-2"), _added),
    **dict.fromkeys(("qkv", "output", "up", "down", "experts", "mlm-head"), _widened),
    "final-norm": _resized,
    "heads": lambda stage: _head_columns(stage, stage.tensors.read, None),
    "qk-norm": _resized,
    "rotation": _rotated,
    "scores": _largest,
    **dict.fromkeys(("scaled", "bias"), _spread),
    "mask": _blocked,
    "softmax": lambda stage: _last_row(stage, stage.tensors.made.values, None),
    "values": lambda stage: _last_row(
        stage, stage.tensors.read.values, int(stage.walk.tensors["allowed"][len(stage.tokens) - 1].sum())
    ),
    "concat": lambda stage: _head_columns(stage, stage.tensors.made, stage.tensors.made.values.shape[1]),
    "activation": lambda stage: activity(stage.tensors.read.values, stage.tensors.made.values),
    "router": _routed,
    "logits": lambda stage: logit_range(stage.walk, stage.tokens),
    "probabilities": lambda stage: probability_mass(stage.walk, stage.tokens),
}
