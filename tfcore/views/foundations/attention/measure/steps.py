"""Scaled dot-product attention step by step: products, scores, weights, outputs; softmax at many temperatures."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.measures.information import entropy_bits

Vectors = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class AttentionSteps:
    """The intermediate results of attention, from queries, keys and values to the output.

    Args:
        products: q . k.
        scores: q . k / sqrt(d_k).
        weights: softmax of scores / temperature over the keys; each row sums to 1.
        outputs: the values, averaged with these weights.
        temperature: T.
    """

    products: Float[ndarray, "query key"]
    scores: Float[ndarray, "query key"]
    weights: Float[ndarray, "query key"]
    outputs: Float[ndarray, "query d_v"]
    temperature: float


def attention_steps(queries: Vectors, keys: Vectors, values: Vectors, temperature: float = 1.0) -> AttentionSteps:
    """softmax(Q K^T / (sqrt(d_k) T)) V with its intermediate results (arXiv:1706.03762, eq. 1).

    Args:
        queries, keys: one vector of d_k numbers a token.
        values: one vector a key.
        temperature: T; 1 is plain attention.

    Raises:
        ValueError: a temperature that is not above 0.
    """
    q, k, v = (torch.tensor(vectors, dtype=torch.float64) for vectors in (queries, keys, values))
    products = attention_scores(q, k, scale=1.0)  # (query, key)
    scores = attention_scores(q, k)  # the same / sqrt(d_k)
    weights = softmax_at(scores, temperature)
    outputs = weighted_values(weights, v)  # (query, d_v)
    return AttentionSteps(products.numpy(), scores.numpy(), weights.numpy(), outputs.numpy(), temperature)


def softmax_at(scores: Float[Tensor, "*batch query key"], temperature: float) -> Float[Tensor, "*batch query key"]:
    """softmax(scores / T): all weight on the largest score as T falls to 0, equal weights as T grows.

    Raises:
        ValueError: a temperature that is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"temperature={temperature} must be above 0; 1 changes nothing")
    return attention_weights(scores / temperature)


@dataclass(frozen=True, slots=True)
class TemperatureSweep:
    """Softmax of a few scores at one temperature and over a range of them.

    Args:
        scores: what the softmax is taken of.
        temperature: the chosen one.
        weights: at the chosen temperature.
        entropy: of these weights, in bits.
        temperatures: evenly spaced on a logarithmic axis.
        curves: the weights at each of them.
    """

    scores: tuple[float, ...]
    temperature: float
    weights: Float[ndarray, " key"]
    entropy: float
    temperatures: Float[ndarray, " point"]
    curves: Float[ndarray, "point key"]


def temperature_sweep(
    scores: Sequence[float], temperature: float, low: float = 0.1, high: float = 100.0, points: int = 121
) -> TemperatureSweep:
    """softmax(scores / T) at T = temperature, and at `points` temperatures from `low` to `high`."""
    row = torch.tensor([list(scores)], dtype=torch.float64)  # (1, key)
    temperatures = torch.logspace(torch.tensor(low).log10(), torch.tensor(high).log10(), points, dtype=torch.float64)
    curves = torch.cat([softmax_at(row, float(t)) for t in temperatures])
    (weights,) = softmax_at(row, temperature)
    entropy = float(entropy_bits(weights))
    return TemperatureSweep(tuple(scores), temperature, weights.numpy(), entropy, temperatures.numpy(), curves.numpy())
