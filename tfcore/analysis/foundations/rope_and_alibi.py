"""Positions that act on the scores: RoPE's products by distance, and ALiBi's biases."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.sinusoidal_positions import wavelengths
from tfcore.attention import attention_weights
from tfcore.positions import alibi_bias, alibi_slopes, rope_angles, rotate


@dataclass(frozen=True, slots=True)
class RotaryScores:
    """One query and one key, rotated to many places.

    Args:
        distances: query position minus key position, 0 .. furthest.
        scores: q . k with the key at position 0 (row 0) and at position `moved` (row 1).
        difference: largest difference between the two rows.
        pairs: the pairs of dimensions that query and key are shown in.
        query, key: these pairs at the chosen positions, as points in the plane.
        products: their share of the score, query . key within the pair.
        wavelengths: positions per full turn, of all pairs.
    """

    distances: Int[ndarray, " distance"]
    scores: Float[ndarray, "2 distance"]
    difference: float
    pairs: Int[ndarray, " pair"]
    query: Float[ndarray, "pair 2"]
    key: Float[ndarray, "pair 2"]
    products: Float[ndarray, " pair"]
    wavelengths: Float[ndarray, " all_pairs"]


def rotary_scores(
    d_head: int,
    base: float,
    alike: float,
    moved: int,
    distance: int,
    furthest: int = 256,
    shown: int = 8,
    seed: int = 0,
) -> RotaryScores:
    """q . k after RoPE as a function of distance, twice: key at position 0, and both moved on by `moved`.

    Args:
        d_head: even width of the head.
        base: of the frequencies.
        alike: cosine between the query and the key before they are rotated.
        moved: position of the key in the second row; the query is `distance` after it.
        distance: where the pairs are shown.
        furthest: largest distance.
        shown: how many pairs are shown, spread evenly from fastest to slowest.
        seed: of the two vectors.

    Source: arXiv:2104.09864, section 3.2 (eq. 16) and, for the decay with distance, section 3.4.3.
    """
    q, k = similar_vectors(d_head, alike, seed)
    distances = torch.arange(furthest + 1)
    scores = torch.stack([_scores(q, k, distances, start, base) for start in (0, moved)])  # (2, distance)
    at = torch.tensor([moved + distance, moved])
    turned = rotate(torch.stack((q, k)), rope_angles(at, d_head, base))  # (query and key, d_head)
    points = turned.unflatten(1, (2, -1)).transpose(1, 2)  # (query and key, pair, 2): pair i is (x_i, x_{i + d/2})
    pairs = torch.linspace(0, d_head // 2 - 1, min(shown, d_head // 2)).long()
    query, key = points[:, pairs]
    return RotaryScores(
        distances.numpy(),
        scores.numpy(),
        float((scores[0] - scores[1]).abs().max()),
        pairs.numpy(),
        query.numpy(),
        key.numpy(),
        (query * key).sum(1).numpy(),
        wavelengths(d_head, base),
    )


@dataclass(frozen=True, slots=True)
class RotaryPairs(Finding):
    """The pairs of dimensions that are shown, and how fast the first and the last of all turn.

    Args:
        shown, pairs: how many are shown, of how many.
        query, key: positions.
        fastest, slowest: positions per full turn of pair 0 and of the last one.
    """

    shown: int
    pairs: int
    query: int
    key: int
    fastest: float
    slowest: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.shown} of {self.pairs} pairs of dimensions as arrows: the query at position {self.query} (long) "
            f"and the key at {self.key} (short). Moving both rotates both arrows alike; the angle between them stays. "
            f"Pair 0 turns once in {self.fastest:.1f} positions, the last once in {self.slowest:,.0f}."
        )


def rotary_pairs(result: RotaryScores, moved: int, distance: int) -> RotaryPairs:
    """What the arrows show."""
    waves = result.wavelengths
    return RotaryPairs(len(result.pairs), len(waves), moved + distance, moved, float(waves[0]), float(waves[-1]))


@dataclass(frozen=True, slots=True)
class RotaryProducts(Finding):
    """q . k by distance.

    Args:
        distance, furthest: the chosen distance and the largest, in tokens.
        at_zero, at_distance, at_furthest: q . k there.
        moved: the position of the key when both are moved on.
        difference: the largest change of any product by that.
    """

    distance: int
    furthest: int
    at_zero: float
    at_distance: float
    at_furthest: float
    moved: int
    difference: float

    @property
    def product_text(self) -> str:
        return f"{self.at_distance:.3f}"

    @property
    def difference_text(self) -> str:
        return f"{self.difference:.1e}"

    @property
    def sentence(self) -> str:
        return (
            f"q · k by distance: {self.at_zero:.1f} at distance 0, {self.at_distance:.1f} at {self.distance}, "
            f"{self.at_furthest:.1f} at {self.furthest}. With the key at position {self.moved} the same to within "
            f"{self.difference_text}."
        )


def rotary_products(result: RotaryScores, moved: int, distance: int) -> RotaryProducts:
    """The products at both ends of the distances and at the chosen one."""
    at_start, at_moved = result.scores
    return RotaryProducts(
        distance,
        int(result.distances[-1]),
        float(at_start[0]),
        float(at_moved[distance]),
        float(at_start[-1]),
        moved,
        result.difference,
    )


def _scores(q: Tensor, k: Tensor, distances: Tensor, start: int, base: float) -> Float[Tensor, " distance"]:
    """q . k with the key at position `start` and the query at each distance after it."""
    queries = rotate(q.expand(len(distances), -1), rope_angles(start + distances, len(q), base))
    key = rotate(k[None], rope_angles(torch.tensor([start]), len(k), base))  # (1, d_head)
    return (queries * key).sum(1)


def similar_vectors(d: int, cosine: float, seed: int) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Two random vectors of length sqrt(d), so with q . k = d cosine: Gaussian, the second one bent to the cosine."""
    q, other = torch.randn(2, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    q = q / q.norm()
    other = other - (other @ q) * q
    k = cosine * q + math.sqrt(1 - cosine**2) * other / other.norm()
    return (q * math.sqrt(d)).float(), (k * math.sqrt(d)).float()


@dataclass(frozen=True, slots=True)
class LinearBiases:
    """ALiBi in every head of a layer.

    Args:
        slopes: m of each head.
        bias: -m (query - key) of the chosen head; not a number where the key comes after the query.
        weights: attention by distance 0 .. seq-1 of the last query, if all q . k were equal: softmax of the bias.
        reach: mean distance in tokens under these weights.
    """

    slopes: Float[ndarray, " head"]
    bias: Float[ndarray, "query key"]
    weights: Float[ndarray, "head distance"]
    reach: Float[ndarray, " head"]


def linear_biases(n_heads: int, head: int, seq: int) -> LinearBiases:
    """ALiBi's slopes, the bias map of one head and what the biases alone make of the attention (arXiv:2108.12409)."""
    positions = torch.arange(seq)
    slopes = alibi_slopes(n_heads)
    bias = alibi_bias(slopes, positions, positions)  # (head, query, key)
    weights = attention_weights(bias[:, -1]).flip(1)  # (head, distance): the last query sees every key
    reach = weights @ positions.to(weights.dtype)
    one = bias[head].masked_fill(positions[None, :] > positions[:, None], math.nan)
    return LinearBiases(slopes.numpy(), np.ascontiguousarray(one.numpy()), weights.numpy(), reach.numpy())


@dataclass(frozen=True, slots=True)
class HeadBias(Finding):
    """The biases of one head.

    Args:
        head: of n.
        slope: the bias per token of distance, without its sign.
        furthest: the bias from the last token to the first.
    """

    head: int
    slope: float
    furthest: float

    @property
    def slope_text(self) -> str:
        return f"{self.slope:.4g}"

    @property
    def sentence(self) -> str:
        return (
            f"Bias of head {self.head}: 0 on the diagonal, {-self.slope:.3g} one token back, {self.furthest:.3g} at "
            "the first token seen from the last."
        )


def head_bias(result: LinearBiases, head: int) -> HeadBias:
    """The slope of a head, and the largest of its biases."""
    return HeadBias(head, float(result.slopes[head]), float(result.bias[-1, 0]))


@dataclass(frozen=True, slots=True)
class HeadReach(Finding):
    """How far back a head looks if all q . k are equal: its weight on the token itself, and the mean distance."""

    head: int
    own_weight: float
    distance: float

    @property
    def distance_text(self) -> str:
        return f"{self.distance:.1f} tokens"

    @property
    def sentence(self) -> str:
        return (
            f"If all q · k were equal: head {self.head} puts {self.own_weight:.2f} on the last token itself; mean "
            f"distance {self.distance_text}."
        )


def head_reach(result: LinearBiases, head: int) -> HeadReach:
    """What the biases alone make of the attention of a head."""
    return HeadReach(head, float(result.weights[head, 0]), float(result.reach[head]))


@dataclass(frozen=True, slots=True)
class SlopeRange(Finding):
    """The steepest and the flattest slope, and the heads that have them: 8 and 7 of 12, first and last of 8."""

    n_heads: int
    steepest: float
    flattest: float
    steepest_head: int
    flattest_head: int

    @property
    def sentence(self) -> str:
        return f"{self.n_heads} slopes, from {self.steepest:.3g} to {self.flattest:.3g}."


def slope_range(result: LinearBiases) -> SlopeRange:
    """Both ends of the slopes, and whose they are."""
    slopes = result.slopes
    heads = int(slopes.argmax()), int(slopes.argmin())
    return SlopeRange(len(slopes), float(slopes.max()), float(slopes.min()), *heads)
