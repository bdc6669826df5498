"""Findings about what a length costs one model: scores, operations, memory."""

import math
from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.measures.flop_count import LengthCost
from tfcore.measures.quantities import prefixed
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.long_context.measure.cost import GPU


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
        """The share of all operations that grow with n squared."""
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


def crossings(config: ModelConfig, cost: LengthCost) -> Statement:
    """The lengths at which what grows with n squared is as much as what grows with n: operations, and memory.

    heads * n^2 scores are as many as 2 n d (heads + KV heads) numbers at n = 2 d (1 + KV heads / heads).
    """
    return state(
        "crossings",
        "Below {operations:,.0f} tokens the products with weights cost more operations; memory crosses much earlier, "
        "at n = 2 d (1 + KV heads ÷ heads), here {memory:,.0f}.",
        operations=cost.crossing,
        memory=2 * config.head_size * (1 + config.attention.kv_heads / config.attention.n_heads),
    )
