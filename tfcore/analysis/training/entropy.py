"""How unsure a distribution is, what it costs to expect another one, and how far apart two of them are; in bits."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def weighted_logs(weight: Float[ndarray, "..."], value: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """weight * log2(value), and 0 where the weight is 0, whatever the value: 0 log 0 = 0.

    Where the value is 0 and the weight is not, minus infinity.
    """
    with np.errstate(divide="ignore"):
        logs = np.log2(value)
    return np.multiply(weight, logs, out=np.zeros_like(weight), where=weight > 0)


def entropy(p: Float[ndarray, "..."]) -> float:
    """H(P) = -sum p log2 p: bits that the best code for P needs on average (Shannon 1948, section 6)."""
    return float(-weighted_logs(p, p).sum()) + 0.0  # no minus zero


def cross_entropy(p: Float[ndarray, "..."], q: Float[ndarray, "..."]) -> float:
    """H(P, Q) = -sum p log2 q: bits when P happens and Q was expected. Infinite where Q rules out what P does."""
    return float(-weighted_logs(p, q).sum()) + 0.0


def divergence_terms(p: Float[ndarray, "..."], q: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """p log2(p / q) of each outcome; 0 where p is 0, infinite where q alone is."""
    return weighted_logs(p, p) - weighted_logs(p, q)  # a difference of logarithms: p / q may be too large for a float


def divergence(p: Float[ndarray, "..."], q: Float[ndarray, "..."]) -> float:
    """KL(P || Q) = sum p log2(p / q): bits lost by expecting Q where P happens; never negative, 0 only for Q = P."""
    return float(divergence_terms(p, q).sum())


def perplexity(bits: float) -> float:
    """2 ** bits: among how many equally likely outcomes one would be as unsure."""
    with np.errstate(over="ignore"):  # a model that is very wrong: infinitely many
        return float(np.exp2(bits))


def token_loss(p: float) -> float:
    """-log2 p: bits of surprise when an outcome of probability p happens.

    Raises:
        ValueError: p is no probability above 0.
    """
    if not 0 < p <= 1:
        raise ValueError(f"p={p} must be above 0 and at most 1: what was ruled out costs infinitely many bits")
    return -math.log2(p) + 0.0


def mixed_loss(p: float, share: float, others: float) -> float:
    """Mean loss in bits of a text where this share of the tokens has probability p, and the others have `others`."""
    return share * token_loss(p) + (1 - share) * token_loss(others)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two distributions over the same outcomes, in bits.

    Args:
        p, q: their probabilities.
        own, other: H(P) and H(Q).
        cross: H(P, Q).
        forward, reverse: KL(P || Q) and KL(Q || P).
        forward_terms, reverse_terms: what each outcome adds to them.
    """

    p: Float[ndarray, " outcome"]
    q: Float[ndarray, " outcome"]
    own: float
    other: float
    cross: float
    forward: float
    reverse: float
    forward_terms: Float[ndarray, " outcome"]
    reverse_terms: Float[ndarray, " outcome"]

    @property
    def gap(self) -> float:
        """H(P, Q) - (H(P) + KL(P || Q)): 0 but for rounding; nan where both are infinite."""
        return self.cross - (self.own + self.forward) if np.isfinite(self.cross) else float("nan")


def compare(p: Float[ndarray, " outcome"], q: Float[ndarray, " outcome"]) -> Comparison:
    """Everything about two distributions, each number from its own definition.

    Raises:
        ValueError: a negative probability, or a sum that is not 1.
    """
    for name, one in (("p", p), ("q", q)):
        if (one < 0).any() or abs(one.sum() - 1) > 1e-9:
            raise ValueError(f"{name} sums to {one.sum():.6g} with a smallest of {one.min():.3g}; divide it by its sum")
    forward, reverse = divergence_terms(p, q), divergence_terms(q, p)
    return Comparison(
        p, q, entropy(p), entropy(q), cross_entropy(p, q), float(forward.sum()), float(reverse.sum()), forward, reverse
    )
