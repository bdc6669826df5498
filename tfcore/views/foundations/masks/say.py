"""Findings on masks: the pairs they allow, the weight they take away, and what leaks."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.mask_cost import MaskCost
from tfcore.measures.mask_patterns import Kind
from tfcore.training.pitfalls import PitfallEvaluation
from tfcore.views.finding import Finding, Statement, state

NAMES: dict[Kind, str] = {
    "causal": "causal",
    "bidirectional": "bidirectional",
    "prefix": "prefix-LM",
    "padding": "padding",
    "window": "sliding window",
    "window_global": "window + global",
    "dilated": "dilated",
    "blocks": "block-sparse",
}


@dataclass(frozen=True, slots=True)
class AllowedPairs(Finding):
    """The pairs that a mask allows, on a text and on a long one."""

    name: str
    near: MaskCost
    far: MaskCost

    @property
    def sentence(self) -> str:
        near = self.near
        ahead = f"{near.ahead:,}" if near.ahead else "none"
        return (
            f"{self.name}: {near.pairs:,} of {near.n**2:,} pairs, {near.share:.1%}; {ahead} of them with a later key. "
            f"At {self.far.n:,} tokens the same mask allows {self.far.share:.1%}."
        )


def blocked_weight(share: float, name: str, *, masked: bool) -> Statement:
    """The share of a head's weight that lies on pairs which a mask blocks.

    Args:
        share: of the weight without the mask.
        name: of the mask.
        masked: it is said of the map after the mask.
    """
    return state(
        "blocked weight",
        "{share:.0%} of the weight {verb} on pairs that this mask ({name}) blocks.",
        share=share,
        verb="was" if masked else "lies",
        name=name,
    )


@dataclass(frozen=True, slots=True)
class LeakComparison(Finding):
    """A leak test with a mask, beside one without.

    Args:
        name: of the mask.
        position: of the changed token.
        equal: with the mask, all outputs before it agree to the last bit.
        before: with the mask, the largest difference before it.
        without: the largest difference before it without a mask.
    """

    name: str
    position: int
    equal: bool
    before: float
    without: float

    @property
    def sentence(self) -> str:
        how = "equal to the last bit" if self.equal else f"differ by up to {self.before:.3g}"
        return (
            f"With the mask {self.name}, the outputs at the {self.position} positions before the changed token "
            f"{'are ' if self.equal else ''}{how}; without a mask they differ by up to {self.without:.3g}."
        )


def twin_losses(looks: Sequence[PitfallEvaluation]) -> Statement:
    """The training losses, at the last look, of a model without a causal mask and of one with it, nats per letter."""
    without, masked = looks[-1].loss
    return state(
        "losses",
        "Training loss, nats per letter, after {step} steps: {without:.3g} without a mask, {masked:.3g} with it.",
        step=looks[-1].step,
        without=without,
        masked=masked,
    )
