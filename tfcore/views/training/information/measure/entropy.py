"""Entropy, cross-entropy and KL divergence of distributions, and the loss of one token; in bits."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.information import check_probabilities, cross_entropy, divergence_terms, entropy

# ---- two distributions ----


@dataclass(frozen=True, slots=True)
class TwoDistributions:
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


def compare(p: Float[ndarray, " outcome"], q: Float[ndarray, " outcome"]) -> TwoDistributions:
    """Entropies and KL divergences of two distributions, each number from its own definition.

    Raises:
        ValueError: a negative probability, or a sum that is not 1.
    """
    check_probabilities("p", p)
    check_probabilities("q", q)
    forward, reverse = divergence_terms(p, q), divergence_terms(q, p)
    return TwoDistributions(
        p, q, entropy(p), entropy(q), cross_entropy(p, q), float(forward.sum()), float(reverse.sum()), forward, reverse
    )


# ---- the loss of one token ----


def token_loss(p: float) -> float:
    """-log2 p: surprisal in bits of an outcome of probability p.

    Raises:
        ValueError: p is no probability above 0.
    """
    if not 0 < p <= 1:
        raise ValueError(f"p={p} must be above 0 and at most 1: what was ruled out costs infinitely many bits")
    return 0.0 - math.log2(p)


def mixed_loss(p: float, share: float, others: float) -> float:
    """Mean loss in bits of a text where this share of the tokens has probability p, and the others have `others`."""
    return share * token_loss(p) + (1 - share) * token_loss(others)
