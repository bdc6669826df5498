"""Attention in pieces: the softmax over some keys now and others later, with three numbers kept for each query.

A softmax seems to need all scores at once, for its largest one and for its sum. It does not: what is known after some
of the keys fits into a small state, and two states merge into the state of all their keys, in any order. Flash
attention merges tile after tile on one chip, ring attention block after block around a ring of devices.

Also here: the vectors of one head that both work on, and one query followed through the pieces.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.measures.one_text import one_text
from tfcore.measures.quantities import compact
from tfcore.model import Transformer

ENOUGH = 1e-5  # some ten roundings of float32 (1.2e-7) at values of a few units; how many depends on the processor
LAST = 3  # steps that a finding tells of


@dataclass(frozen=True, slots=True)
class HeadVectors:
    """One head's queries (times the factor of the scores already), keys and values, on the CPU."""

    q: Float[Tensor, "seq d_head"]
    k: Float[Tensor, "seq d_head"]
    v: Float[Tensor, "seq d_head"]

    def scores(
        self, queries: Int[Tensor, " query"], keys: Int[Tensor, " key"], causal: bool
    ) -> Float[Tensor, "query key"]:
        """Scores of some queries for some keys, both given by their positions; -inf where the key comes later."""
        scores = attention_scores(self.q[queries], self.k[keys], 1.0)
        return scores.masked_fill(queries[:, None] < keys, -math.inf) if causal else scores

    def naive(self, causal: bool) -> tuple[Float[Tensor, "seq seq"], Float[Tensor, "seq d_head"]]:
        """Weights and output by standard attention: all scores, the softmax of every row, the weighted values."""
        every = torch.arange(len(self.q))
        weights = attention_weights(self.scores(every, every, causal))
        return weights, weighted_values(weights, self.v)

    def double(self) -> "HeadVectors":
        """The same numbers in float64."""
        return HeadVectors(self.q.double(), self.k.double(), self.v.double())


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors of all heads of some layers for one text, on the CPU; queries times the factor of the scores."""

    q: Float[Tensor, "layer head seq d_head"]
    k: Float[Tensor, "layer kv_head seq d_head"]
    v: Float[Tensor, "layer kv_head seq d_head"]

    def head(self, layer: int, head: int) -> HeadVectors:
        """Those of a query head, with the key/value head that its group shares."""
        shared = head * self.k.shape[1] // self.q.shape[1]
        return HeadVectors(self.q[layer, head], self.k[layer, shared], self.v[layer, shared])


@torch.no_grad()
def text_vectors(model: Transformer, ids: Sequence[int], layers: Sequence[int]) -> TextVectors:
    """Run a decoder on a text and take the vectors of all heads; after the rotation, where positions are RoPE."""
    config = model.config
    turned = "rot_" if config.positions == "rope" else ""
    names = [[f"blocks.{layer}.attn.{name}" for layer in layers] for name in (f"{turned}q", f"{turned}k", "v")]
    found = model.activations(one_text(model, ids), chain(*names))
    q, k, v = (torch.cat([found[name].float().cpu() for name in of_all]) for of_all in names)
    scales = torch.tensor([config.scale_of(layer) for layer in layers])
    return TextVectors(q * scales[:, None, None, None], k, v)


def head_vectors(model: Transformer, ids: Sequence[int], layer: int, head: int) -> HeadVectors:
    """One head's vectors for a text."""
    return text_vectors(model, ids, [layer]).head(0, head)


@dataclass(frozen=True, slots=True)
class State:
    """What a query knows after some of its keys.

    Args:
        m: the largest score until now; -inf where no key was seen.
        l: sum of exp(score - m), the normaliser.
        out: sum of exp(score - m) * value, not yet divided.
    """

    m: Float[Tensor, " query"]
    l: Float[Tensor, " query"]  # noqa: E741 - the papers' letter
    out: Float[Tensor, "query d_head"]


def nothing_yet(n_query: int, d_head: int, dtype: torch.dtype = torch.float32) -> State:
    """The state before the first key: merging it with another one leaves that one as it is."""
    return State(
        torch.full((n_query,), -math.inf, dtype=dtype),
        torch.zeros(n_query, dtype=dtype),
        torch.zeros(n_query, d_head, dtype=dtype),
    )


def of_tile(
    scores: Float[Tensor, "query key"], v: Float[Tensor, "key d_head"], seen: Bool[Tensor, "query key"] | None = None
) -> State:
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
    return State(m, p.sum(1), p @ v)


def merge(a: State, b: State) -> State:
    """The state of the keys of both: what was added up relative to a smaller maximum is scaled down.

        m = max(m_a, m_b),   l = e^(m_a - m) l_a + e^(m_b - m) l_b,   out likewise

    Source: arXiv:1805.02867, equation 4; arXiv:2205.14135, section 3.1; `out` undivided as in arXiv:2307.08691.
    """
    m = torch.maximum(a.m, b.m)
    scale_a, scale_b = rescale(a.m, m), rescale(b.m, m)
    return State(m, scale_a * a.l + scale_b * b.l, scale_a[:, None] * a.out + scale_b[:, None] * b.out)


def rescale(old: Float[Tensor, " query"], new: Float[Tensor, " query"]) -> Float[Tensor, " query"]:
    """e^(old - new), at most 1: what a sum relative to the maximum `old` is multiplied with once it is `new`."""
    return torch.exp(old - _finite(new))


def result(state: State) -> Float[Tensor, "query d_head"]:
    """Attention's output, out / l; zeros for a query that saw no key at all. With one, l is 1 or more: the largest
    score adds e^0."""
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
    before: State,
    now: State,
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


def only(state: State, row: int) -> State:
    """The state of one of the queries."""
    one = slice(row, row + 1)
    return State(state.m[one], state.l[one], state.out[one])


@dataclass(frozen=True, slots=True)
class RowState:
    """A query after a step: the running maximum, the factor for what was there before, and the normaliser."""

    number: int
    m: float
    rescale: float
    l: float  # noqa: E741


@dataclass(frozen=True, slots=True)
class RowProgress(Finding):
    """A query after some of its steps.

    Args:
        unit: what a step merges: "tile", or "step" around the ring.
        last: the states after the last steps, at most LAST.
        done, total: steps.
    """

    unit: str
    last: tuple[RowState, ...]
    done: int
    total: int

    @property
    def sentence(self) -> str:
        states = "; ".join(
            f"after {self.unit} {one.number}: m {one.m:.3f}, rescale {one.rescale:.3g}, l {one.l:.3f}"
            for one in self.last
        )
        start = f"A{states[1:]}; " if states else "Nothing yet; "
        return f"{start}{self.done} of {self.total} {'tiles' if self.unit == 'tile' else 'blocks'} merged."


def row_progress(unit: str, done: Sequence[RowStep], total: int) -> RowProgress:
    """The last steps of those that are done."""
    last = tuple(RowState(step.at + 1, step.m, step.rescale, step.l) for step in done[-LAST:])
    return RowProgress(unit, last, len(done), total)


@dataclass(frozen=True, slots=True)
class Difference(Finding):
    """How far attention in pieces is from standard attention.

    Args:
        single: the largest difference in float32, over all queries and numbers.
        double: the same in float64.
    """

    single: float
    double: float

    @property
    def verdict(self) -> str:
        """Whether the difference in float32 is one of rounding as usual."""
        return "equal to 1e-5" if self.single <= ENOUGH else "rounding of float32"

    @property
    def words(self) -> tuple[str, str]:
        """Both numbers."""
        return f"{self.single:.1e}", f"{self.double:.1e}"

    @property
    def sentence(self) -> str:
        single, double = self.words
        return f"The difference to standard attention is {single} at most ({self.verdict}), in float64 {double}."
