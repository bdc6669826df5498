"""Entropy, cross-entropy and KL divergence of distributions, in bits where nothing else is said."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

SUM_ERROR = 1e-9  # by which probabilities may miss a sum of 1: rounding


def weighted_logs(weight: Float[ndarray, "..."], value: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """weight * log2(value), and 0 where the weight is 0, whatever the value: 0 log 0 = 0.

    Where the value is 0 and the weight is not, minus infinity.
    """
    logs = np.log2(value, out=np.full_like(value, -np.inf), where=value > 0)
    return np.multiply(weight, logs, out=np.zeros_like(weight), where=weight > 0)


def entropy(p: Float[ndarray, "..."]) -> float:
    """H(P) = -sum p log2 p: bits that the best code for P needs on average (Shannon 1948, section 6)."""
    return 0.0 - float(weighted_logs(p, p).sum())  # no minus zero


def cross_entropy(p: Float[ndarray, "..."], q: Float[ndarray, "..."]) -> float:
    """H(P, Q) = -sum p log2 q: mean bits per outcome of P with the code of Q. Infinite where q is 0 and p is not."""
    return 0.0 - float(weighted_logs(p, q).sum())


def divergence_terms(p: Float[ndarray, "..."], q: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """p log2(p / q) of each outcome; 0 where p is 0, infinite where q alone is."""
    return weighted_logs(p, p) - weighted_logs(p, q)  # a difference of logarithms: p / q may be too large for a float


def kl_divergence(p: Float[ndarray, "..."], q: Float[ndarray, "..."]) -> float:
    """KL(P || Q) = sum p log2(p / q): extra bits per outcome of P with the code of Q; at least 0, and 0 for Q = P."""
    return float(divergence_terms(p, q).sum())


def divergence(
    log_p: Float[Tensor, "*#batch outcome"], log_q: Float[Tensor, "*batch outcome"]
) -> Float[Tensor, "*batch"]:
    """KL(P || Q) = sum p (ln p - ln q), in nats, of log-probabilities: 0 where both are the same, 0 ln 0 = 0."""
    log_p, log_q = torch.broadcast_tensors(log_p, log_q)
    return F.kl_div(log_q, log_p, log_target=True, reduction="none").nan_to_num().sum(-1)


def perplexity(bits: float) -> float:
    """2 ** bits: the number of equally likely outcomes with this entropy."""
    with np.errstate(over="ignore"):  # a model that is very wrong: infinitely many
        return float(np.exp2(bits))


def check_probabilities(name: str, p: Float[ndarray, "..."]) -> None:
    """Raise a ValueError unless these are probabilities that sum to 1."""
    if (p < 0).any() or abs(p.sum() - 1) > SUM_ERROR:
        raise ValueError(f"{name} sums to {p.sum():.6g} with a smallest of {p.min():.3g}; divide it by its sum")


def entropy_bits(weights: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch"]:
    """-sum p log2 p: 0 for one winner, log2 n for n equal weights."""
    return torch.special.entr(weights).sum(-1) / torch.log(torch.tensor(2.0, dtype=weights.dtype))
