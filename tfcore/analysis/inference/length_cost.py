"""What a length costs one model, and what sparse attention patterns cost instead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.masks import Kind, MaskConfig, build
from tfcore.measures.flop_count import LengthCost
from tfcore.measures.leaks import leak_test
from tfcore.measures.quantities import counted, prefixed
from tfcore.model import Transformer

GPU = 80.0 * 2**30  # bytes of a GPU that is sold as 80 GB


@dataclass(frozen=True, slots=True)
class ScoreMatrix(Finding):
    """The score matrix of one head.

    Args:
        model: its name.
        n: tokens.
        d_head: numbers in a query, key, value or output.
        cells: scores.
        times: as many as numbers in queries, keys, values and output together.
    """

    model: str
    n: int
    d_head: int
    cells: int
    times: float

    @property
    def scores(self) -> str:
        return f"{self.cells:,}"

    @property
    def sentence(self) -> str:
        return (
            f"One head of {self.model} at n = {self.n:,}, d = {self.d_head}, drawn to scale: {self.scores} scores, "
            f"{self.times:,.1f} times as many numbers as Q, K, V and output together."
        )


def score_matrix(model: str, n: int, d_head: int) -> ScoreMatrix:
    """n * n scores beside four times n * d_head numbers."""
    return ScoreMatrix(model, n, d_head, n * n, n * n / (4 * n * d_head))


@dataclass(frozen=True, slots=True)
class Operations(Finding):
    """Floating-point operations of one pass.

    Args:
        model: its name.
        n: tokens.
        linear, squared: operations that grow with n, and with n squared.
        crossing: the length at which both are equal.
    """

    model: str
    n: int
    linear: float
    squared: float
    crossing: float

    @property
    def share(self) -> str:
        """Of all operations, those that grow with n squared."""
        return f"{self.squared / (self.linear + self.squared):.1%}"

    @property
    def sentence(self) -> str:
        return (
            f"{self.model}, n = {self.n:,}: {prefixed(self.linear, 'FLOP')} with weights, "
            f"{prefixed(self.squared, 'FLOP')} for scores and values. Equal at n = {self.crossing:,.0f}."
        )


def operations(model: str, cost: LengthCost, at: int) -> Operations:
    """Operations at length number `at`."""
    return Operations(model, int(cost.n[at]), float(cost.linear[at]), float(cost.squared[at]), cost.crossing)


@dataclass(frozen=True, slots=True)
class LayerMemory(Finding):
    """Bytes in one layer, in half precision.

    Args:
        n: tokens.
        scores: of the score matrices of all heads.
        vectors: of queries, keys, values and output.
        fits: the longest text whose scores fit into GPU bytes.
    """

    n: int
    scores: int
    vectors: int
    fits: int

    @property
    def score_bytes(self) -> str:
        return prefixed(self.scores)

    @property
    def times(self) -> str:
        """How many times the vectors the scores take."""
        return f"{self.scores / self.vectors:,.1f} × Q, K, V, output"

    @property
    def sentence(self) -> str:
        return (
            f"n = {self.n:,}: {self.score_bytes} of scores, {prefixed(self.vectors)} of Q, K, V and output. Scores of "
            f"one layer fit into 80 GiB, a GPU sold as 80 GB, up to n = {self.fits:,}."
        )


def layer_memory(cost: LengthCost, at: int) -> LayerMemory:
    """Bytes at length number `at`."""
    for_each_pair = int(cost.matrices[at]) / int(cost.n[at]) ** 2
    fits = math.isqrt(int(GPU / for_each_pair))
    return LayerMemory(int(cost.n[at]), int(cost.matrices[at]), int(cost.vectors[at]), fits)


@dataclass(frozen=True, slots=True)
class Crossings(Finding):
    """The lengths at which what grows with n squared is as much as what grows with n: operations, and memory."""

    operations: float
    memory: float

    @property
    def sentence(self) -> str:
        return (
            f"Below {self.operations:,.0f} tokens the products with weights cost more operations; memory crosses much "
            f"earlier, at n = 2 d (1 + KV heads ÷ heads), here {self.memory:,.0f}."
        )


def crossings(config: ModelConfig, cost: LengthCost) -> Crossings:
    """heads * n^2 scores are as many as 2 n d (heads + KV heads) numbers at n = 2 d (1 + KV heads / heads)."""
    return Crossings(cost.crossing, 2 * config.head_size * (1 + config.kv_heads / config.n_heads))


COUNTED = ("causal", "bidirectional", "window", "window_global", "dilated", "blocks")
NAMES: dict[Kind, str] = {
    "causal": "full, causal",
    "window": "sliding window",
    "window_global": "window + global",
    "dilated": "dilated",
    "blocks": "block-sparse",
}


def keys_seen(config: MaskConfig, n: int) -> Int[ndarray, " query"]:
    """How many keys each of n queries sees, without making the matrix: a sum over n numbers instead of n squared.

    Raises:
        ValueError: a mask that depends on a text rather than on a pattern.
    """
    place = np.arange(n, dtype=np.int64)
    window = np.minimum(place + 1, config.window)
    match config.kind:
        case "causal":
            return place + 1
        case "bidirectional":
            return np.full(n, n, dtype=np.int64)
        case "window":
            return window
        case "window_global":  # first tokens that the window does not hold anyway
            return window + np.minimum(config.n_global, place + 1 - window)
        case "dilated":
            return np.minimum(config.window, place // config.dilation + 1)
        case "blocks":
            own = place // config.block
            return place % config.block + 1 + own // config.stride * config.block
    raise ValueError(f"kind={config.kind!r} is not a pattern; choose one of {', '.join(COUNTED)}")


def pairs_kept(config: MaskConfig, lengths: Sequence[int]) -> Int[ndarray, " length"]:
    """The (query, key) pairs of a pattern for each length. Every pair costs 4 d_head operations in each head."""
    return np.array([int(keys_seen(config, n).sum()) for n in lengths], dtype=np.int64)


def layers_needed(mask: Bool[Tensor, "query key"], most: int) -> Int[ndarray, "query key"]:
    """Through how many layers a key's token must pass to reach a query: 1 where the mask lets it through at once.

        reach_1 = mask,   reach_(l+1) = mask @ reach_l > 0

    Args:
        most: layers to try; what has not arrived after them is 0.

    Source: the receptive field of stacked windows, arXiv:2004.05150, section 3.1.
    """
    step, reach = mask.float(), mask
    needed = mask.to(torch.int64)
    for layer in range(2, most + 1):
        reach = (step @ reach.float()) > 0
        needed[reach & (needed == 0)] = layer
    return needed.numpy()


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one token's information gets.

    Args:
        kind: of the mask.
        needed: layers, for each (query, key); 0 where it never arrives.
        pairs: that the mask keeps.
        back: how far behind the last token lies the earliest one whose information reaches it, after 1, 2 ... layers.
        arrived: how many tokens reach the last one, after 1, 2 ... layers.
    """

    kind: Kind
    needed: Int[ndarray, "query key"]
    pairs: int
    back: Int[ndarray, " layer"]
    arrived: Int[ndarray, " layer"]


def reach(config: MaskConfig, n: int, layers: int) -> Reach:
    """Follow information through `layers` layers that all have this mask."""
    mask = build(config, n)
    needed = layers_needed(mask, layers)
    last = needed[-1]
    arrived = [(last > 0) & (last <= layer) for layer in range(1, layers + 1)]
    back = [n - 1 - int(np.flatnonzero(those)[0]) for those in arrived]
    return Reach(
        config.kind, needed, int(mask.sum()), np.array(back), np.array([int(those.sum()) for those in arrived])
    )


@dataclass(frozen=True, slots=True)
class MeasuredReach:
    """A real model under a mask: one token was changed, and the outputs compared bit by bit.

    Args:
        kind: of the mask.
        layers: of the model.
        position: of that token.
        expected: per token, whether the pattern lets the change arrive within the model's layers.
        changed: whether any logit there is another number.
    """

    kind: Kind
    layers: int
    position: int
    expected: Bool[ndarray, " seq"]
    changed: Bool[ndarray, " seq"]

    @property
    def furthest(self) -> int:
        """Tokens between the changed one and the last one it reached."""
        return int(np.flatnonzero(self.changed)[-1]) - self.position


def measured_reach(
    model: Transformer, ids: Sequence[int], config: MaskConfig, position: int, replacement: int
) -> MeasuredReach:
    """Change a token and see where the change arrives; the pattern's own arithmetic beside it.

    Args:
        position, replacement: as in `leak_test`.
    """
    layers = model.config.n_layers
    needed = layers_needed(build(config, len(ids)), layers)
    leak = leak_test(model, ids, config, position, replacement)
    return MeasuredReach(config.kind, layers, position, needed[:, position] > 0, leak.difference > 0)


@dataclass(frozen=True, slots=True)
class PatternReach(Finding):
    """What a pattern keeps, and how far information travels through several layers of it.

    Args:
        pattern: its name.
        n: tokens.
        pairs, causal: (query, key) pairs of the pattern, and of full causal attention.
        layers: that were followed.
        arrived: tokens that the last one depends on.
        back: how far behind it lies the earliest of them.
    """

    pattern: str
    n: int
    pairs: int
    causal: int
    layers: int
    arrived: int
    back: int

    @property
    def sentence(self) -> str:
        return (
            f"{self.n} × {self.n}: {self.pattern} keeps {self.pairs:,} of {self.causal:,} causal pairs "
            f"({self.pairs / self.causal:.0%}); through {counted(self.layers, 'layer')} the last "
            f"token depends on {self.arrived} of {self.n} tokens, up to {self.back} back."
        )


def pattern_reach(found: Reach) -> PatternReach:
    """The numbers after the last layer that was followed."""
    n = len(found.needed)
    arrived, back = int(found.arrived[-1]), int(found.back[-1])
    return PatternReach(NAMES[found.kind], n, found.pairs, n * (n + 1) // 2, len(found.back), arrived, back)


@dataclass(frozen=True, slots=True)
class PairsAtLength(Finding):
    """The pairs of a pattern at one length beside those of full causal attention."""

    pattern: str
    n: int
    kept: int
    causal: int

    @property
    def sentence(self) -> str:
        return (
            f"At {self.n:,} tokens, {self.pattern}: {self.kept:,} pairs, {self.causal / self.kept:,.1f} × fewer than "
            f"the {self.causal:,} of full attention."
        )


def pairs_at_length(
    lengths: Sequence[int], counts: Mapping[Kind, Int[ndarray, " length"]], kind: Kind, at: int
) -> PairsAtLength:
    """Compare the pairs at length number `at`; `counts` holds those of every pattern."""
    return PairsAtLength(NAMES[kind], lengths[at], int(counts[kind][at]), int(counts["causal"][at]))


@dataclass(frozen=True, slots=True)
class ModelReach(Finding):
    """Where a changed token changes the outputs of a real model.

    Args:
        pattern: name of the mask.
        layers: of the model.
        position: of the token.
        changed: outputs that change.
        furthest: how far behind the token lies the last of them.
        expected: outputs that the pattern lets change.
        is_same: whether both are the same tokens.
    """

    pattern: str
    layers: int
    position: int
    changed: int
    furthest: int
    expected: int
    is_same: bool

    @property
    def sentence(self) -> str:
        same = "token by token" if self.is_same else "with differences"
        return (
            f"The shipped model, {self.layers} layers under {self.pattern}: changing token {self.position} changes the "
            f"outputs of {self.changed} tokens, up to {self.furthest} further on; the pattern allows {self.expected}, "
            f"{same}."
        )


def model_reach(found: MeasuredReach) -> ModelReach:
    """Count the outputs, and compare them with the pattern."""
    return ModelReach(
        pattern=NAMES[found.kind],
        layers=found.layers,
        position=found.position,
        changed=int(found.changed.sum()),
        furthest=found.furthest,
        expected=int(found.expected.sum()),
        is_same=bool((found.changed == found.expected).all()),
    )
