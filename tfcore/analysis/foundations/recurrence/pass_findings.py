"""One pass over a sequence by each network, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.measures.timing import milliseconds
from tfcore.training.recurrent.networks import IN_SENTENCE, KINDS, Kind
from tfcore.training.recurrent.passes import Pass


@dataclass(frozen=True, slots=True)
class ParallelGain(Finding):
    """Where the Transformer is furthest ahead of the quicker recurrent network, and how times grow at the end.

    Args:
        n: tokens; 0 while nothing can be compared.
        times: (network, seconds) there.
        growth: (network, factor of the last doubling of the length).
    """

    n: int
    times: tuple[tuple[Kind, float], ...]
    growth: tuple[tuple[Kind, float], ...]

    @property
    def sentence(self) -> str:
        if not self.n:
            return "Nothing to compare yet."
        times = dict(self.times)
        ratio = min(times["rnn"], times["lstm"]) / times["transformer"]
        speed = f"{ratio:.1f} times as quick" if ratio >= 1 else f"{1 / ratio:.1f} times slower"
        said = ", ".join(f"{IN_SENTENCE[kind]} {milliseconds(s)}" for kind, s in self.times)
        grown = ", ".join(f"{IN_SENTENCE[kind]} × {factor:.1f}" for kind, factor in self.growth)
        return (
            f"At {self.n:,} tokens the Transformer compares best with the quicker recurrent network: {speed} ({said}). "
            f"The last doubling of the length: {grown}."
        )


def parallel_gain(points: Sequence[Pass]) -> ParallelGain:
    """Over all lengths at which the three were measured."""
    by_length: dict[int, dict[Kind, float]] = {}
    for point in points:
        by_length.setdefault(point.n, {})[point.kind] = point.seconds
    whole = {n: times for n, times in by_length.items() if len(times) == len(KINDS)}
    if len(whole) < 2:
        return ParallelGain(0, (), ())
    best = max(whole, key=lambda n: min(whole[n]["rnn"], whole[n]["lstm"]) / whole[n]["transformer"])
    before, last = sorted(whole)[-2:]
    growth = tuple((kind, whole[last][kind] / whole[before][kind]) for kind in KINDS)
    return ParallelGain(best, tuple((kind, whole[best][kind]) for kind in KINDS), growth)
