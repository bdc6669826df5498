"""One head's queries, keys and values through a mixer: the matrix it implies, the state it carries, and what is still
held of each token."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.head_vectors import HeadVectors, head_vectors, text_vectors
from tfcore.mixers import Rule, chunked, convolution_matrix, implied_matrix, positive, recurrent, step, unit
from tfcore.model import Transformer

MixerRow = Literal["linear", "decay", "gated", "ssm", "delta", "gated delta", "conv"]
WITHOUT_STATE: MixerRow = "conv"
FADING: tuple[MixerRow, ...] = ("decay", "gated", "ssm", "gated delta")
ERASING: tuple[MixerRow, ...] = ("delta", "gated delta")
REACH = 4  # tokens of the short convolution, all with the same weight
CHUNK = 16  # tokens: so that a short text has several
RANK = 0.01  # of the largest singular value; those above it are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerSettings:
    """A mixer, and what training would have set in it.

    Args:
        row: which.
        half_life: tokens after which half of what was written is left, in the mean over the text, where it fades.
        strength: how much of each token is written, where the rule erases.
    """

    row: MixerRow = "linear"
    half_life: float = 16.0
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class CarriedState:
    """A mixer on one head's vectors.

    Args:
        weights: softmax attention's, as the model has them.
        matrix: of the mixer, with o = matrix v.
        states: after each token; of the short convolution the values that it still reads.
        norms: of the states (Frobenius).
        written: norm of what each token added.
        lost: norm of what each token took away: faded or erased.
        ranks: singular values of each state above RANK of its largest.
        held: cosine of what a token's key reads out of the state after another token with the value that was written
            for it; 0 before it was written.
        difference: the largest between the outputs of the three forms, over the largest output.
    """

    weights: Float[ndarray, "query key"]
    matrix: Float[ndarray, "query key"]
    states: Float[ndarray, "seq row d_value"]
    norms: Float[ndarray, " seq"]
    written: Float[ndarray, " seq"]
    lost: Float[ndarray, " seq"]
    ranks: tuple[int, ...]
    held: Float[ndarray, "after token"]
    difference: float

    @property
    def numbers(self) -> int:
        """How many the state has."""
        return self.states[0].size

    @property
    def kept(self) -> Float[ndarray, " seq"]:
        """Numbers that attention keeps after each token: a key and a value for each."""
        _, rows, width = self.states.shape
        return (rows + width) * (1.0 + torch.arange(len(self.states)).numpy())


@torch.no_grad()
def carried_state(
    model: Transformer, ids: Sequence[int], layer: int, head: int, settings: MixerSettings
) -> CarriedState:
    """Compute a mixer on the queries, keys and values of a head that was trained with softmax."""
    vectors = head_vectors(model, ids, layer, head)
    weights, _ = vectors.naive(causal=True)
    if settings.row == WITHOUT_STATE:
        return _convolved(weights, vectors.v)
    q, k, rule = features(vectors, settings)
    v = vectors.v
    matrix = implied_matrix(q, k, rule)
    outputs, _ = recurrent(q, k, v, rule)
    others = (matrix @ v, chunked(q, k, v, rule, chunk=CHUNK)[0])
    apart = max(float((one - outputs).abs().max() / outputs.abs().max()) for one in others)
    states = torch.stack(list(_states(k, v, rule)))
    before = torch.cat((torch.zeros_like(states[:1]), states[:-1]))
    left = torch.stack([_left(one, k[t], rule.part(t, t + 1)) for t, one in enumerate(before)])
    return CarriedState(
        weights.numpy(),
        matrix.numpy(),
        states[..., : v.shape[-1]].numpy(),
        _norms(states),
        _norms(states - left),
        _norms(before - left),
        tuple(int((values > RANK * values[0]).sum()) for values in torch.linalg.svdvals(states)),
        _held(states, k, v, rule),
        apart,
    )


@torch.no_grad()
def telling_head(model: Transformer, ids: Sequence[int], layer: int) -> int:
    """The head of a layer whose queries, in the mean, give one key the most weight, the first token and the query's own
    left out: where a text shows most of what softmax picks out."""
    vectors = text_vectors(model, ids, [layer])
    n, peaks = len(ids), []
    for head in range(vectors.q.shape[1]):
        weights, _ = vectors.head(0, head).naive(causal=True)
        others = weights.masked_fill(torch.eye(n, dtype=torch.bool), 0.0)[:, 1:]
        peaks.append(float(others.amax(-1).mean()) if n > 1 else 0.0)
    return max(range(len(peaks)), key=peaks.__getitem__)


def features(vectors: HeadVectors, settings: MixerSettings) -> tuple[Tensor, Tensor, Rule]:
    """Queries, keys and rule of a mixer for a head's vectors.

    A trained layer has matrices for how much it keeps and writes. A head of softmax attention has none, so they are set
    here: a half-life in the mean, that of a token shorter where its value is larger (`ssm`, `gated delta`), that of a
    channel where the key is (`gated`); and one strength for all tokens.
    """
    q, k, v = vectors.q, vectors.k, vectors.v
    fade = -math.log(2) / settings.half_life
    sizes = v.norm(dim=-1) / v.norm(dim=-1).mean()  # 1 in the mean
    if settings.row == "linear":
        return positive(q), positive(k), Rule(normalised=True)
    if settings.row == "decay":
        return q, k, Rule(log_decay=torch.full((len(k), 1), fade))
    if settings.row == "gated":
        return q, k, Rule(log_decay=fade * k.abs() / k.abs().mean())
    if settings.row == "ssm":
        return q, k, Rule(log_decay=fade * sizes[:, None], strength=sizes)
    strength = torch.full((len(k),), settings.strength)
    faded = fade * sizes[:, None] if settings.row == "gated delta" else None
    return unit(q), unit(k), Rule(log_decay=faded, strength=strength, erase=True)


def _states(k: Tensor, v: Tensor, rule: Rule) -> list[Float[Tensor, "d_key d_written"]]:
    states, state = [], k.new_zeros(k.shape[-1], v.shape[-1] + rule.normalised)
    for t in range(len(k)):
        state = step(state, k[t], v[t], rule.part(t, t + 1))
        states.append(state)
    return states


def _left(before: Float[Tensor, "d_key d_written"], k: Float[Tensor, " d_key"], rule: Rule) -> Tensor:
    """What is left of a state when a token has faded and erased it, before anything is written: a step whose value is
    0."""
    value = before.new_zeros(before.shape[-1])
    return step(before, k, value, Rule(log_decay=rule.log_decay, strength=rule.strength, erase=rule.erase))


def _norms(states: Float[Tensor, "seq row column"]) -> Float[ndarray, " seq"]:
    return states.flatten(1).norm(dim=-1).numpy()


def _held(states: Tensor, k: Tensor, v: Tensor, rule: Rule) -> Float[ndarray, "after token"]:
    read = torch.einsum("jd,tde->tje", k, states)  # (after, token, d_written)
    if rule.normalised:
        read = read[..., :-1]
    cosines = torch.cosine_similarity(read, v[None], dim=-1)
    return cosines.tril().numpy()


def _convolved(weights: Float[Tensor, "query key"], v: Float[Tensor, "seq d_value"]) -> CarriedState:
    """The short convolution: what it carries are the last values themselves."""
    n = len(v)
    matrix = convolution_matrix(torch.full((1, REACH), 1 / REACH), n)[0]
    padded = torch.cat((v.new_zeros(REACH - 1, v.shape[-1]), v))
    states = torch.stack([padded[t + 1 : t + REACH] for t in range(n)])  # the last REACH - 1 values
    rows = padded.norm(dim=-1)
    held = torch.ones(n, n).tril() - torch.ones(n, n).tril(1 - REACH)
    return CarriedState(
        weights.numpy(),
        matrix.numpy(),
        states.numpy(),
        _norms(states),
        rows[REACH - 1 :].numpy(),
        rows[:n].numpy(),
        tuple(int((values > RANK * values[0]).sum()) for values in torch.linalg.svdvals(states)),
        held.numpy(),
        0.0,
    )


# ---- recall against the size of the state ----

RecallRow = Literal["softmax", "linear", "delta"]
PAIRS = (1, 2, 4, 8, 16, 32, 64, 128)
DRAWS = 32  # of random keys and values at each number of pairs
SHARP = 8.0  # times sqrt(d_key), the factor of the scores of softmax attention


@dataclass(frozen=True, slots=True)
class StoredPairs:
    """The share of values that come back right, by how many pairs were stored.

    Args:
        d_key: width of the keys.
        right: (row, number of pairs) in the order of ROWS_OF_RECALL and PAIRS.
    """

    d_key: int
    right: Float[ndarray, "row pairs"]


ROWS_OF_RECALL: tuple[RecallRow, ...] = ("softmax", "linear", "delta")


@torch.no_grad()
def stored_pairs(d_key: int, seed: int) -> StoredPairs:
    """Store pairs of random keys (of length 1) and values (+1 or -1 in each of d_key places), read each with its own
    key, and count it right where its own value is nearest to what was read of all that were stored. No training: this
    is what each memory holds at best where keys are random."""
    generator = torch.Generator().manual_seed(seed)
    right = torch.zeros(len(ROWS_OF_RECALL), len(PAIRS))
    for i, pairs in enumerate(PAIRS):
        k = unit(torch.randn(DRAWS, pairs, d_key, generator=generator))
        v = torch.randn(DRAWS, pairs, d_key, generator=generator).sign()
        reads = (
            (SHARP * d_key**0.5 * k @ k.mT).softmax(-1) @ v,
            k @ (k.mT @ v),
            k @ chunked(k, k, v, Rule(erase=True), chunk=pairs)[1],
        )
        for row, read in enumerate(reads):
            nearest = (read @ v.mT).argmax(-1)
            own = v.gather(1, nearest[..., None].expand_as(v))
            right[row, i] = (own == v).all(-1).float().mean()  # another token may have the same value
    return StoredPairs(d_key, right.numpy())
