"""Attention in pieces: the softmax over some keys now and others later, with three numbers kept for each query.

A softmax seems to need all scores at once, for its largest one and for its sum. It does not: what is known after some
of the keys fits into a small state, and two states merge into the state of all their keys, in any order. Flash
attention merges tile after tile on one chip, ring attention block after block around a ring of devices.

Also here: one query followed through the pieces.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.head_vectors import HeadVectors
from tfcore.measures.quantities import compact


@dataclass(frozen=True, slots=True)
class SoftmaxState:
    """The state of a query after some of its keys.

    Args:
        m: the largest score until now; -inf where no key was seen.
        l: sum of exp(score - m), the normaliser.
        out: sum of exp(score - m) * value, not yet divided.
    """

    m: Float[Tensor, " query"]
    l: Float[Tensor, " query"]  # noqa: E741 - the papers' letter
    out: Float[Tensor, "query d_head"]


def nothing_yet(n_query: int, d_head: int, dtype: torch.dtype = torch.float32) -> SoftmaxState:
    """The state before the first key: merging it with another one leaves that one as it is."""
    return SoftmaxState(
        torch.full((n_query,), -math.inf, dtype=dtype),
        torch.zeros(n_query, dtype=dtype),
        torch.zeros(n_query, d_head, dtype=dtype),
    )


def before_keys(vectors: HeadVectors, n_query: int) -> SoftmaxState:
    """The state of a head's queries before the first key: nothing yet, or the head's learned sink, a score without a
    value."""
    nothing = nothing_yet(n_query, vectors.v.shape[1], vectors.v.dtype)
    if vectors.sink is None:
        return nothing
    return replace(nothing, m=vectors.sink.expand(n_query), l=torch.ones_like(nothing.l))


def of_tile(
    scores: Float[Tensor, "query key"], v: Float[Tensor, "key d_head"], seen: Bool[Tensor, "query key"] | None = None
) -> SoftmaxState:
    """The state of these keys alone.

        m = max_j s_j,   l = sum_j exp(s_j - m),   out = sum_j exp(s_j - m) v_j

    Args:
        seen: True where the query may see the key; a query may see none of them.

    Source: arXiv:2205.14135, algorithm 1, lines 9 to 11.
    """
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    m = scores.amax(1)  # (query,)
    p = torch.exp(scores - _finite(m)[:, None])  # (query, key), largest entry 1
    return SoftmaxState(m, p.sum(1), p @ v)


def merge(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
    """The state of the keys of both: what was added up relative to a smaller maximum is scaled down.

        m = max(m_a, m_b),   l = e^(m_a - m) l_a + e^(m_b - m) l_b,   out likewise

    Source: arXiv:1805.02867, equation 4; arXiv:2205.14135, section 3.1; `out` undivided as in arXiv:2307.08691.
    """
    m = torch.maximum(a.m, b.m)
    scale_a, scale_b = rescale(a.m, m), rescale(b.m, m)
    return SoftmaxState(m, scale_a * a.l + scale_b * b.l, scale_a[:, None] * a.out + scale_b[:, None] * b.out)


def rescale(old: Float[Tensor, " query"], new: Float[Tensor, " query"]) -> Float[Tensor, " query"]:
    """e^(old - new), at most 1: what a sum relative to the maximum `old` is multiplied with once it is `new`."""
    return torch.exp(old - _finite(new))


def result(state: SoftmaxState) -> Float[Tensor, "query d_head"]:
    """Attention's output, out / l; zeros for a query that saw no key at all. With one, or a sink, l is 1 or more: the
    largest score adds e^0."""
    return state.out / state.l.clamp(min=1)[:, None]


def _finite(m: Float[Tensor, " query"]) -> Float[Tensor, " query"]:
    """-inf - (-inf) is no number: where no key was seen, the maximum counts as 0, and exp(-inf - 0) is the 0 wanted."""
    return torch.where(m == -math.inf, 0.0, m)


@dataclass(frozen=True, slots=True)
class RowStep:
    """One step of the online softmax for one query, in plain numbers.

    Args:
        at: when: which tile, or which step around the ring, counted from 0.
        keys: positions of these keys.
        scores: of the query for each of these keys; -inf where it may not look.
        weights: exp(score - tile_m), before the division by l.
        tile_m, tile_l: their largest score, and the sum of their weights.
        old_m, m: the running maximum before and after.
        rescale, scale_tile: e^(old m - m) for what was there, e^(tile_m - m) for what comes.
        old_l, l: the normaliser before and after.
        out: the sum of weighted values after it, not yet divided by l.
    """

    at: int
    keys: Int[ndarray, " key"]
    scores: Float[ndarray, " key"]
    weights: Float[ndarray, " key"]
    tile_m: float
    tile_l: float
    old_m: float
    m: float
    rescale: float
    scale_tile: float
    old_l: float
    l: float  # noqa: E741
    out: Float[ndarray, " d_head"]

    @property
    def equation(self) -> str:
        """The step as LaTeX, with its numbers in place of the letters."""
        old, tile, m = (_tex(value) for value in (self.old_m, self.tile_m, self.m))
        scale, scale_tile = _tex(self.rescale), _tex(self.scale_tile)
        return (
            rf"\begin{{aligned}} m &= \max({old},\ {tile}) = {m} \\ "
            rf"\ell &= {scale} \cdot {_tex(self.old_l)} + {scale_tile} \cdot {_tex(self.tile_l)} = {_tex(self.l)}"
            r" \end{aligned}"
        )


def _tex(value: float) -> str:
    word = compact(value).replace("−", "-").replace("∞", r"\infty")
    mantissa, _, power = word.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def row_step(
    at: int,
    keys: Int[Tensor, " key"],
    scores: Float[Tensor, "1 key"],
    v: Float[Tensor, "key d_head"],
    before: SoftmaxState,
    now: SoftmaxState,
) -> RowStep:
    """The numbers between the states before and after these keys.

    Args:
        scores: of the query for these keys, -inf where it may not look.
        v: values of these keys.
        before, now: states of this one query.
    """
    alone = of_tile(scores, v)
    weights = scores.exp() if float(alone.m) == -torch.inf else (scores - alone.m).exp()
    return RowStep(
        at=at,
        keys=keys.numpy(),
        scores=scores.flatten().numpy(),
        weights=weights.flatten().numpy(),
        tile_m=float(alone.m),
        tile_l=float(alone.l),
        old_m=float(before.m),
        m=float(now.m),
        rescale=float(rescale(before.m, now.m)),
        scale_tile=float(rescale(alone.m, now.m)),
        old_l=float(before.l),
        l=float(now.l),
        out=now.out.flatten().numpy(),
    )


def only(state: SoftmaxState, row: int) -> SoftmaxState:
    """The state of one of the queries."""
    one = slice(row, row + 1)
    return SoftmaxState(state.m[one], state.l[one], state.out[one])
