"""Positions that act on the scores: RoPE's products by distance, and ALiBi's biases."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_weights
from tfcore.positions import alibi_bias, alibi_slopes, apply_rope, rope_angles, rope_cos_sin
from tfcore.views.foundations.positions.measure.sinusoidal import wavelengths

AROUND = 41  # distances that are averaged


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
    turned = apply_rope(torch.stack((q, k)), *rope_cos_sin(rope_angles(at, d_head, base)))  # (query and key, d_head)
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


def _scores(q: Tensor, k: Tensor, distances: Tensor, start: int, base: float) -> Float[Tensor, " distance"]:
    """q . k with the key at position `start` and the query at each distance after it."""
    queries = apply_rope(q.expand(len(distances), -1), *rope_cos_sin(rope_angles(start + distances, len(q), base)))
    key = apply_rope(k[None], *rope_cos_sin(rope_angles(torch.tensor([start]), len(k), base)))  # (1, d_head)
    return (queries * key).sum(1)


def similar_vectors(d: int, cosine: float, seed: int) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Two random vectors of length sqrt(d), so with q . k = d cosine: Gaussian, the second one bent to the cosine."""
    q, other = torch.randn(2, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    q = q / q.norm()
    other = other - (other @ q) * q
    k = cosine * q + math.sqrt(1 - cosine**2) * other / other.norm()
    return (q * math.sqrt(d)).float(), (k * math.sqrt(d)).float()


@dataclass(frozen=True, slots=True)
class TwoBases:
    """What is left of q . k with distance, with the bases of both kinds of layers.

    Args:
        bases: of the layers with a window, and of those without.
        distances: from 1 on, about evenly spread by their logarithm.
        left: as a share of q . k at distance 0, averaged over all directions of the vectors in each pair of dimensions
            and over distances that differ by a tenth at most.
    """

    bases: tuple[float, float]
    distances: Int[ndarray, " distance"]
    left: Float[ndarray, "2 distance"]

    @property
    def halves(self) -> tuple[int | None, int | None]:
        """For each base the first of the distances at which less than half is left; None where that is at none."""
        first = [np.flatnonzero(row < 0.5) for row in self.left]
        near, wide = (int(self.distances[one[0]]) if len(one) else None for one in first)
        return near, wide


def two_bases(d_head: int, bases: tuple[float, float], furthest: int = 131_072, count: int = 400) -> TwoBases:
    """What is left of q . k on average: the mean of cos(m theta_i) over all pairs i of dimensions at distance m.

    In a pair of dimensions the rotation by m theta_i takes q . k to |q| |k| cos(phi + m theta_i), with phi the angle
    between both; where phi is as often positive as negative, cos(m theta_i) of it is left.

    Args:
        d_head: even width of the head.
        bases: of the layers with a window and of those without; 10,000 and 1,000,000 in Gemma 3 (arXiv:2503.19786).
        furthest: largest distance.
        count: of distances, at most.

    Source: arXiv:2104.09864, section 3.4.3.
    """
    distances = np.unique(np.geomspace(1, furthest, count).round().astype(np.int64))
    near = torch.tensor((distances[:, None] * np.linspace(0.9, 1.1, AROUND)).round().astype(np.int64))
    left = [
        rope_angles(near.ravel(), d_head, base).double().cos().mean(1).view(near.shape).mean(1).numpy()
        for base in bases
    ]
    return TwoBases(bases, distances, np.stack(left))


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
