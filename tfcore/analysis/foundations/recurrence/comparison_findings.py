"""What is said of trainings side by side."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.measures.quantities import span
from tfcore.training.recurrent.comparison import Comparison, Repeats, TaskName
from tfcore.training.recurrent.networks import IN_SENTENCE, KINDS, NAMES, Kind

THRESHOLD = 0.8  # of right tokens, to say when a task is learned
PLACES: dict[TaskName, tuple[str, str]] = {  # what the first and the last place are
    "copy": ("for the first letter", "for the last"),
    "recall": ("at the shortest distance", "at the longest"),
    "addition": ("for the sum", "for the sum"),
    "characters": ("after the first character", "after the last"),
}


@dataclass(frozen=True, slots=True)
class HeldOutAccuracy(Finding):
    """Where a comparison is now.

    Args:
        step: optimiser steps of each network.
        accuracy: share of right tokens on held-out rows.
        loss: nats per token on these.
    """

    step: int
    accuracy: tuple[tuple[Kind, float], ...]
    loss: tuple[tuple[Kind, float], ...]

    @property
    def sentence(self) -> str:
        losses = dict(self.loss)
        said = [f"{NAMES[kind]} {share:.1%} (loss {losses[kind]:.2g})" for kind, share in self.accuracy]
        steps = "1 step" if self.step == 1 else f"{self.step} steps"
        return f"Right tokens on held-out rows after {steps}: {', '.join(said)}."


@dataclass(frozen=True, slots=True)
class Learned(Finding):
    """When each network first had THRESHOLD of the held-out tokens right.

    Args:
        when: (network, step, seconds of its own steps); (network, 0, 0) where it did not.
        steps: of the comparison until now.
    """

    when: tuple[tuple[Kind, int, float], ...]
    steps: int

    @property
    def sentence(self) -> str:
        reached = [f"{IN_SENTENCE[kind]} after {step} steps ({s:.1f} s)" for kind, step, s in self.when if step]
        missed = [IN_SENTENCE[kind] for kind, step, _ in self.when if not step]
        if not reached:
            return f"None has {THRESHOLD:.0%} right within {self.steps} steps."
        never = f"; not within {self.steps} steps: {', '.join(missed)}" if missed else ""
        return f"{THRESHOLD:.0%} right: {', '.join(reached)}{never}."


@dataclass(frozen=True, slots=True)
class AccuracyByPlace(Finding):
    """Right tokens at the first and at the last place or distance.

    Args:
        task: says what the places are.
        ends: (network, share at the first, share at the last).
    """

    task: TaskName
    ends: tuple[tuple[Kind, float, float], ...]

    @property
    def sentence(self) -> str:
        first, last = PLACES[self.task]
        said = ", ".join(f"{NAMES[kind]} {near:.0%} and {far:.0%}" for kind, near, far in self.ends)
        return f"Right {first} and {last}: {said}."


@dataclass(frozen=True, slots=True)
class SeedSpread(Finding):
    """How much depends on the seed.

    Args:
        seeds: how many trainings there are.
        ranges: (network, lowest, highest) share of right tokens at the end.
    """

    seeds: int
    ranges: tuple[tuple[Kind, float, float], ...]

    @property
    def sentence(self) -> str:
        said = [f"{NAMES[kind]} {span((low, high), '.0%')}" for kind, low, high in self.ranges]
        return f"Over {self.seeds} seeds of weights and batches: {', '.join(said)} right at the end."


@dataclass(frozen=True, slots=True)
class RecallOverSeeds(Finding):
    """What of the recall of one letter holds with every seed, and what with some.

    Args:
        seeds: how many trainings there are.
        whole: with how many of them the LSTM has every letter right at the end.
        nearer: with how many the RNN has more right at the shortest distance than at the longest.
        learned: with how many the Transformer has THRESHOLD or more right.
        least: the smallest share that the Transformer has right.
    """

    seeds: int
    whole: int
    nearer: int
    learned: int
    least: float

    @property
    def sentence(self) -> str:
        of = f"of {self.seeds} seeds"
        return (
            f"At the end the LSTM has every letter right with {self.whole} {of}. The RNN has more right at the "
            f"shortest distance than at the longest with {self.nearer} {of}. The Transformer has {THRESHOLD:.0%} or "
            f"more right with {self.learned} {of}, and {self.least:.0%} with the seed where it has fewest."
        )


def held_out_accuracy(found: Comparison) -> HeldOutAccuracy:
    """At the last look."""
    last = found.last
    return HeldOutAccuracy(
        last.step, tuple(zip(KINDS, last.accuracy, strict=True)), tuple(zip(KINDS, last.held_out, strict=True))
    )


def learned(found: Comparison) -> Learned:
    """The first look of each network at which it has THRESHOLD right."""
    when: list[tuple[Kind, int, float]] = []
    for i, kind in enumerate(KINDS):
        look = next((look for look in found.looks if look.accuracy[i] >= THRESHOLD), None)
        when.append((kind, look.step, look.seconds[i]) if look else (kind, 0, 0.0))
    return Learned(tuple(when), found.last.step)


def accuracy_by_place(found: Comparison) -> AccuracyByPlace:
    """At the last look."""
    ends = [(kind, shares[0], shares[-1]) for kind, shares in zip(KINDS, found.last.by_place, strict=True)]
    return AccuracyByPlace(found.config.task, tuple(ends))


def seed_spread(repeats: Repeats) -> SeedSpread:
    """The lowest and the highest accuracy of each network."""
    by_network = zip(*repeats.accuracy, strict=True)
    ranges = tuple((kind, min(shares), max(shares)) for kind, shares in zip(KINDS, by_network, strict=True))
    return SeedSpread(len(repeats.seeds), ranges)


def recall_over_seeds(repeats: Repeats) -> RecallOverSeeds:
    """Counted over the trainings of the task "recall"."""
    rnn, lstm, transformer = (KINDS.index(kind) for kind in ("rnn", "lstm", "transformer"))
    near_and_far = [(places[rnn][0], places[rnn][-1]) for places in repeats.by_place]
    shares = [each[transformer] for each in repeats.accuracy]
    return RecallOverSeeds(
        seeds=len(repeats.seeds),
        whole=sum(each[lstm] == 1 for each in repeats.accuracy),
        nearer=sum(near > far for near, far in near_and_far),
        learned=sum(share >= THRESHOLD for share in shares),
        least=min(shares),
    )
