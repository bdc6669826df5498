"""Findings on two ways of generating: with a KV cache and without."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.quantities import short
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.kv_cache.measure.generation import BothWays, CacheWork


@dataclass(frozen=True, slots=True)
class Measured(Finding):
    """All steps so far together.

    Args:
        steps: how many.
        with_cache, without: seconds.
        operations_with, operations_without: floating-point operations.
        difference: the largest of a logit.
        same: in how many steps the most likely token is the same.
    """

    steps: int
    with_cache: float
    without: float
    operations_with: int
    operations_without: int
    difference: float
    same: int

    @property
    def times(self) -> str:
        return f"{self.without / self.with_cache:.1f} times as long" if self.steps else ""

    @property
    def seconds(self) -> tuple[str, str]:
        return f"{self.with_cache:.2f} s", f"{self.without:.2f} s"

    @property
    def largest_difference(self) -> str:
        return f"{self.difference:.1e}"

    @property
    def same_tokens(self) -> str:
        return f"same token {self.same} of {self.steps}"

    @property
    def sentence(self) -> str:
        fast, slow = self.seconds
        longer = f", {self.times}" if self.steps else ""
        return (
            f"All steps so far: {fast} and {short(self.operations_with)} operations with the cache, {slow} and "
            f"{short(self.operations_without)} without{longer}. Logits differ by {self.largest_difference} at most; "
            f"{self.same_tokens}."
        )


def step_costs(work: CacheWork, done: Sequence[BothWays]) -> Statement:
    """The last step that was measured, or the first where none was."""
    at = max(len(done) - 1, 0)
    return state(
        "step costs",
        "At {length} tokens each step costs {with_cache:short} operations with the cache and {without:short} without; "
        "the cache holds {held:size}. Measured for {measured} steps.",
        length=int(work.length[at]),
        with_cache=int(work.with_cache[at]),
        without=int(work.without[at]),
        held=int(work.held[at]),
        measured=len(done),
    )


def measured(work: CacheWork, done: Sequence[BothWays]) -> Measured:
    """Add up what was measured so far."""
    n = len(done)
    return Measured(
        steps=n,
        with_cache=sum((step.with_cache for step in done), 0.0),
        without=sum((step.without for step in done), 0.0),
        operations_with=int(work.with_cache[:n].sum()),
        operations_without=int(work.without[:n].sum()),
        difference=max((step.difference for step in done), default=0.0),
        same=sum(step.same for step in done),
    )
