"""Scaled dot-product attention of a few vectors, every step kept: products, scores, weights, outputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, weighted_values

Vectors = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class AttentionSteps:
    """What happens between queries, keys and values and the output, step by step.

    Args:
        products: q . k.
        scores: q . k / sqrt(d_k).
        weights: softmax of scores / temperature over the keys; each row sums to 1.
        outputs: the values, averaged with these weights.
    """

    products: Float[ndarray, "query key"]
    scores: Float[ndarray, "query key"]
    weights: Float[ndarray, "query key"]
    outputs: Float[ndarray, "query d_v"]


def attention_steps(queries: Vectors, keys: Vectors, values: Vectors, temperature: float = 1.0) -> AttentionSteps:
    """softmax(Q K^T / (sqrt(d_k) T)) V, and everything on the way (arXiv:1706.03762, eq. 1).

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
    return AttentionSteps(products.numpy(), scores.numpy(), weights.numpy(), outputs.numpy())


def softmax_at(scores: Float[Tensor, "*batch query key"], temperature: float) -> Float[Tensor, "*batch query key"]:
    """softmax(scores / T): towards one winner as T falls to 0, towards equal weights as T grows.

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
        weights: at the chosen temperature.
        entropy: of these weights, in bits.
        temperatures: evenly spaced on a logarithmic axis.
        curves: the weights at each of them.
    """

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
    weights = softmax_at(row, temperature)[0]
    return TemperatureSweep(weights.numpy(), float(entropy_bits(weights)), temperatures.numpy(), curves.numpy())


def entropy_bits(weights: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch"]:
    """-sum p log2 p: 0 for one winner, log2 n for n equal weights."""
    return torch.special.entr(weights).sum(-1) / torch.log(torch.tensor(2.0, dtype=weights.dtype))
