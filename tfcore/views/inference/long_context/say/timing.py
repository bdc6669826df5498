"""Findings about plain and fused attention, timed."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.quantities import prefixed
from tfcore.measures.timing import milliseconds
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.long_context.measure.timing import Timed, Way

NAMES: dict[Way, str] = {"naive": "plain", "fused": "fused"}


@dataclass(frozen=True, slots=True)
class FusedSpeed(Finding):
    """Both ways at the longest text that both were measured on.

    Args:
        n: tokens; 0 where there is nothing to compare yet.
        plain, fused: seconds of the quickest run.
        memory: bytes that standard attention had allocated at once over those of the fused; None where torch does not
            tell.
        difference: the largest between the results.
    """

    n: int
    plain: float
    fused: float
    memory: float | None
    difference: float

    @property
    def sentence(self) -> str:
        if not self.n:
            return "Nothing to compare yet."
        ratio = self.plain / self.fused
        speed = f"{ratio:.1f} times quicker" if ratio >= 1 else f"{1 / ratio:.1f} times slower"
        memory = "" if self.memory is None else f" and takes {self.memory:.0f} times less memory"
        return (
            f"At {self.n:,} tokens fused attention is {speed}{memory}: {milliseconds(self.plain)} and "
            f"{milliseconds(self.fused)}; the results differ by {self.difference:.0e} at most."
        )


def fused_speed(points: Sequence[Timed]) -> FusedSpeed:
    """Compare both ways at the longest text that both were run on."""
    ways = {(point.n, point.way): point for point in points if point.runs}
    lengths = [n for n, way in ways if way == "naive" and (n, "fused") in ways]
    if not lengths:
        return FusedSpeed(0, 0.0, 0.0, None, 0.0)
    n = max(lengths)
    plain, fused = ways[n, "naive"], ways[n, "fused"]
    memory = plain.measured / fused.measured if plain.measured and fused.measured else None
    return FusedSpeed(n, plain.seconds, fused.seconds, memory, fused.difference or 0.0)


def bytes_at_once(points: Sequence[Timed]) -> Statement:
    """The memory of the ways at the longest text so far, which came last."""
    if not points:
        return state("no bytes", "Bytes at once beside Q, K, V: nothing yet.")
    words = (
        f"{NAMES[point.way]} {prefixed(point.computed)} computed"
        + (f", {prefixed(point.measured)} measured" if point.measured else "" if point.runs else ", left out")
        for point in points
        if point.n == points[-1].n
    )
    return state(
        "bytes at once",
        "Bytes at once beside Q, K, V, at {n:,} tokens: {words}.",
        n=points[-1].n,
        words="; ".join(words),
    )
