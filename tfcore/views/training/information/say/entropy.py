"""The words for two distributions, and for the loss of one token."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.information import perplexity
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.information.measure.entropy import TwoDistributions, mixed_loss, token_loss


def bits_text(value: float) -> str:
    """Bits with three decimals, "∞" where they are infinite."""
    return "∞" if math.isinf(value) else f"{round(value, 3) + 0.0:.3f}"  # no minus zero


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


def entropy_numbers(result: TwoDistributions) -> EntropyNumbers:
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


def entropy_identity(result: TwoDistributions, names: Sequence[str]) -> EntropyIdentity:
    """The identity for a comparison of outcomes with these names."""
    ruled_out = (name for name, p, q in zip(names, result.p, result.q, strict=True) if p > 0 and q == 0)
    return EntropyIdentity(result.own, result.forward, result.cross, tuple(ruled_out))


def divergence_sums(result: TwoDistributions) -> Statement:
    """The sums of a comparison's terms of all outcomes, KL(P || Q) and KL(Q || P), in bits."""
    return state(
        "divergence sums",
        "KL(P‖Q) sums to {forward} bits, KL(Q‖P) to {reverse} bits.",
        forward=bits_text(float(result.forward_terms.sum())),
        reverse=bits_text(float(result.reverse_terms.sum())),
    )


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
    losses = [loss_of_token(p) for p in probabilities]
    return {
        "probability of the right token": [f"{one.p:g}" for one in losses],
        "bits": [f"{one.bits:.3f}" for one in losses],
        "nats": [f"{one.nats:.3f}" for one in losses],
        "perplexity": [f"{1 / one.p:,.2f}" for one in losses],
    }


def loss_of_mixture(p: float, share: float, others: float) -> Statement:
    """A text where this share of the tokens has probability p, and the others have `others`; its mean in bits per
    token."""
    mean = mixed_loss(p, share, others)
    return state(
        "mixed loss",
        "One such token costs as much as {ratio:.1f} tokens at {others:g}. A text with {percent:.0f} % of them and the "
        "rest at {others:g} has a mean of {mean:.3f} bits per token, perplexity {perplexity:.2f}.",
        ratio=token_loss(p) / token_loss(others),
        others=others,
        percent=100 * share,
        mean=mean,
        perplexity=perplexity(mean),
    )
