"""Entropy, cross-entropy and KL divergence of distributions, and the loss of one token; in bits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.information import check_probabilities, cross_entropy, divergence_terms, entropy, perplexity


def bits_text(value: float) -> str:
    """Bits with three decimals, "∞" where they are infinite."""
    return "∞" if math.isinf(value) else f"{round(value, 3) + 0.0:.3f}"  # no minus zero


# ---- two distributions ----


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
    """Entropies and KL divergences of two distributions, each number from its own definition.

    Raises:
        ValueError: a negative probability, or a sum that is not 1.
    """
    check_probabilities("p", p)
    check_probabilities("q", q)
    forward, reverse = divergence_terms(p, q), divergence_terms(q, p)
    return Comparison(
        p, q, entropy(p), entropy(q), cross_entropy(p, q), float(forward.sum()), float(reverse.sum()), forward, reverse
    )


@dataclass(frozen=True, slots=True)
class EntropyNumbers(Finding):
    """The entropies and divergences of two distributions.

    Args:
        own, cross: H(P) and H(P, Q), in bits.
        forward, reverse: KL(P || Q) and KL(Q || P), in bits.
        perplexity: of P.
    """

    own: float
    cross: float
    forward: float
    reverse: float
    perplexity: float

    @property
    def metrics(self) -> dict[str, str]:
        """Name -> value of each number."""
        return {
            "H(P)": bits_text(self.own),
            "H(P, Q)": bits_text(self.cross),
            "KL(P‖Q)": bits_text(self.forward),
            "KL(Q‖P)": bits_text(self.reverse),
            "perplexity of P": f"{self.perplexity:.3f}",
        }

    @property
    def sentence(self) -> str:
        cross = "infinite" if math.isinf(self.cross) else f"{bits_text(self.cross)} bits"
        return (
            f"Blue area: {bits_text(self.own)} bits, the entropy of P. Orange area: {cross}, the cross-entropy with Q. "
            f"KL(P‖Q) = {bits_text(self.forward)} bits, KL(Q‖P) = {bits_text(self.reverse)} bits; perplexity of P "
            f"{self.perplexity:.3f}."
        )


def entropy_numbers(result: Comparison) -> EntropyNumbers:
    """The numbers of a comparison."""
    return EntropyNumbers(result.own, result.cross, result.forward, result.reverse, perplexity(result.own))


@dataclass(frozen=True, slots=True)
class EntropyIdentity(Finding):
    """H(P, Q) = H(P) + KL(P || Q) with its numbers, or why both sides are infinite.

    Args:
        own, forward, cross: H(P), KL(P || Q) and H(P, Q), in bits.
        ruled_out: the outcomes to which Q gives 0 and P does not.
    """

    own: float
    forward: float
    cross: float
    ruled_out: tuple[str, ...]

    @property
    def sentence(self) -> str:
        if self.ruled_out:
            return (
                f"Q gives 0 to {', '.join(self.ruled_out)}, and P does not, so the cross-entropy is infinite. Where p "
                "itself is 0, the term is 0: 0 log 0 counts as 0."
            )
        total = self.own + self.forward
        return (
            f"H(P) + KL(P‖Q) = {self.own:.5f} + {self.forward:.5f} = {total:.5f}; H(P, Q) = {self.cross:.5f} bits. "
            f"Difference: {abs(self.cross - total):.1g}."
        )


def entropy_identity(result: Comparison, names: Sequence[str]) -> EntropyIdentity:
    """The identity for a comparison of outcomes with these names."""
    ruled_out = (name for name, p, q in zip(names, result.p, result.q, strict=True) if p > 0 and q == 0)
    return EntropyIdentity(result.own, result.forward, result.cross, tuple(ruled_out))


@dataclass(frozen=True, slots=True)
class DivergenceSums(Finding):
    """What the terms of all outcomes sum to.

    Args:
        forward, reverse: KL(P || Q) and KL(Q || P), in bits.
    """

    forward: float
    reverse: float

    @property
    def sentence(self) -> str:
        return f"KL(P‖Q) sums to {bits_text(self.forward)} bits, KL(Q‖P) to {bits_text(self.reverse)} bits."


def divergence_sums(result: Comparison) -> DivergenceSums:
    """The sums of a comparison's terms."""
    return DivergenceSums(float(result.forward_terms.sum()), float(result.reverse_terms.sum()))


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


@dataclass(frozen=True, slots=True)
class TokenLoss(Finding):
    """The loss of a token.

    Args:
        p: probability of the right token.
        bits, nats: its loss.
    """

    p: float
    bits: float
    nats: float

    @property
    def metrics(self) -> dict[str, str]:
        """Name -> value of each number."""
        return {"Loss, bits": f"{self.bits:.3f}", "Loss, nats": f"{self.nats:.3f}", "1/p": f"{1 / self.p:,.1f}"}

    @property
    def sentence(self) -> str:
        return (
            f"At p = {self.p:.3f} the loss is {self.bits:.3f} bits and its gradient on the right token's logit "
            f"{self.p:.3f} − 1 = −{1 - self.p:.3f} (nats)."
        )


def loss_of_token(p: float) -> TokenLoss:
    """The loss of a token of probability p."""
    bits = token_loss(p)
    return TokenLoss(p, bits, bits * math.log(2))


def loss_table(probabilities: Sequence[float]) -> dict[str, list[str]]:
    """Columns of a table: probabilities of the right token, and what each costs."""
    found = [loss_of_token(p) for p in probabilities]
    return {
        "probability of the right token": [f"{one.p:g}" for one in found],
        "bits": [f"{one.bits:.3f}" for one in found],
        "nats": [f"{one.nats:.3f}" for one in found],
        "perplexity": [f"{1 / one.p:,.2f}" for one in found],
    }


@dataclass(frozen=True, slots=True)
class MixedLoss(Finding):
    """A text with some improbable tokens.

    Args:
        others: probability of the right token everywhere else.
        ratio: the loss of one improbable token in losses of another one.
        share: of improbable tokens, from 0 to 1.
        mean: loss in bits per token.
        perplexity: of the text.
    """

    others: float
    ratio: float
    share: float
    mean: float
    perplexity: float

    @property
    def sentence(self) -> str:
        return (
            f"One such token costs as much as {self.ratio:.1f} tokens at {self.others:g}. A text with "
            f"{100 * self.share:.0f} % of them and the rest at {self.others:g} has a mean of {self.mean:.3f} bits per "
            f"token, perplexity {self.perplexity:.2f}."
        )


def loss_of_mixture(p: float, share: float, others: float) -> MixedLoss:
    """A text where this share of the tokens has probability p, and the others have `others`."""
    mean = mixed_loss(p, share, others)
    return MixedLoss(others, token_loss(p) / token_loss(others), share, mean, perplexity(mean))
