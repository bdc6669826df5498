"""Findings on masks: the pairs they allow, the weight they take away, and what leaks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.heads.kinds import WHOLE
from tfcore.measures.mask_cost import MaskCost
from tfcore.measures.mask_patterns import Kind, MaskConfig
from tfcore.measures.token_text import visible
from tfcore.training.pitfalls import PitfallEvaluation
from tfcore.views.finding import Finding, Statement, state

TINY = 1e-12  # share of a row from which its growth is counted
NAMES: dict[Kind, str] = {
    "causal": "causal",
    "bidirectional": "bidirectional",
    "prefix": "prefix-LM",
    "padding": "padding",
    "window": "sliding window",
    "window_global": "window + global",
    "dilated": "dilated",
    "blocks": "block-sparse",
    "alternating": "alternating windows",
}


def mask_of_layer(mask: MaskConfig, layer: int) -> str:
    """The name of a mask, with what an alternating one is in a layer."""
    if mask.kind != "alternating":
        return NAMES[mask.kind]
    return f"{NAMES[mask.kind]}, layer {layer} ({'all earlier tokens' if mask.is_whole(layer) else 'a window'})"


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


def blocked_weight(share: float, name: str) -> Statement:
    """The share of a head's weight without a mask that lies on pairs which the mask blocks.

    Args:
        name: of the mask.
    """
    words = "{share:.0%} of the weight lies on pairs that this mask ({name}) blocks."
    return state("blocked weight", words, share=share, name=name)


@dataclass(frozen=True, slots=True)
class LargestScore(Finding):
    """The largest score of a head before the mask.

    Args:
        query, key: the tokens, as they are shown.
        blocked: the mask blocks this pair.
    """

    score: float
    query: str
    key: str
    blocked: bool

    @property
    def sentence(self) -> str:
        becomes = "which this mask blocks" if self.blocked else "which this mask allows"
        return f"the largest is {self.score:.2f}, of '{self.query}' for '{self.key}', {becomes}."


def largest_score(
    scores: Float[ndarray, "query key"], allowed: Bool[ndarray, "query key"], tokens: Sequence[str]
) -> LargestScore:
    """The largest of a head's scores, and whether the mask allows its pair."""
    query, key = divmod(int(scores.argmax()), len(tokens))
    return LargestScore(
        float(scores[query, key]), visible(tokens[query]), visible(tokens[key]), not allowed[query, key]
    )


def blocked_scores(allowed: Bool[ndarray, "query key"]) -> Statement:
    """How many scores become minus infinity."""
    words = "{blocked:,} of {pairs:,} become minus infinity; the others stay as they are."
    return state("blocked scores", words, blocked=int((~allowed).sum()), pairs=allowed.size)


def grown_weights(
    unmasked: Float[ndarray, "query key"], masked: Float[ndarray, "query key"], allowed: Bool[ndarray, "query key"]
) -> Statement:
    """By how much the weights of allowed pairs grow in the median row, since each row sums to 1 again; with what a
    learned sink takes of it, where there is one."""
    total = masked.sum(-1)
    growth = total / np.maximum((unmasked * allowed).sum(-1), TINY)
    sunk = ", with the part of the learned sink," if float(total.min()) < WHOLE else ""
    return state(
        "grown weights",
        f"blocked ones are exactly 0, and the rest of a row grows{sunk} to a sum of 1: {{median:.2g}} times in the "
        "median row.",
        median=float(np.median(growth)),
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
