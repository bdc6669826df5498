"""Networks trained alike, side by side, on the same batches with one optimiser: what comes of it, and its JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tfcore.measures.statistics import student_interval

DIGITS = 4  # that count, in JSON


@runtime_checkable
class AlikeConfig(Protocol):
    """A task, and a training that is the same for all networks.

    Args:
        steps: optimiser steps.
        lr: peak of the learning rate.
        seed: of weights and batches.
        kinds: of networks, in the order of all results.
        names: kind -> its name.
        in_sentence: kind -> the same with an article.
    """

    @property
    def steps(self) -> int: ...
    @property
    def lr(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def names(self) -> Mapping[str, str]: ...
    @property
    def in_sentence(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEvaluation:
    """All networks after as many steps; tuples are in the order of the config's kinds.

    Args:
        step: optimiser steps of each.
        seconds: that its own steps have taken until now.
        loss: mean over the batches since the look before, nats per token that counts; at step 0 of the first batch.
        held_out: the same of rows that are never trained on.
        accuracy: share of right tokens in these.
        by_place: (network, place) the same, by the distance or place that the task tells apart.
    """

    step: int
    seconds: tuple[float, ...]
    loss: tuple[float, ...]
    held_out: tuple[float, ...]
    accuracy: tuple[float, ...]
    by_place: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison, to its end or on its way.

    Args:
        looks: in the order of their steps.
        places: the distances or places of `by_place`.
        gradients: of the trained networks, where a config has them measured; none before the end.
        machine: where it was measured.
    """

    config: AlikeConfig
    looks: tuple[ComparisonEvaluation, ...]
    places: tuple[int, ...]
    gradients: tuple[Any, ...] = ()
    machine: str = ""

    @property
    def last(self) -> ComparisonEvaluation:
        """The networks as they are now."""
        return self.looks[-1]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The ends of trainings of one task that differ in their seed.

    Args:
        seeds: of weights and batches.
        accuracy: (seed, network) share of right tokens in held-out rows.
        by_place: (seed, network, place) the same, by the distance or place that the task tells apart.
    """

    seeds: tuple[int, ...]
    accuracy: tuple[tuple[float, ...], ...]
    by_place: tuple[tuple[tuple[float, ...], ...], ...]


def repeats_of(runs: Sequence[Comparison]) -> Repeats:
    """The last look of each, rounded as JSON keeps it."""
    return Repeats(
        tuple(run.config.seed for run in runs),
        tuple(tuples(_rounded(run.last.accuracy)) for run in runs),
        tuple(tuples(_rounded(run.last.by_place)) for run in runs),
    )


@dataclass(frozen=True, slots=True)
class SeedRange:
    """A number over several seeds."""

    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """From the lowest to the highest."""
        return self.high - self.low


def seed_ranges(runs: Mapping[str, Sequence[float]]) -> dict[str, SeedRange]:
    """The mean, the lowest and the highest over the seeds of each network.

    Args:
        runs: network -> a number for each seed.
    """
    return {name: SeedRange(sum(seeds) / len(seeds), min(seeds), max(seeds)) for name, seeds in runs.items()}


@dataclass(frozen=True, slots=True)
class SeedDifference:
    """The mean over the seeds of a difference between two networks of the same seed, and Student's 95 % interval of
    it."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return not self.low <= 0 <= self.high


def seed_difference(one: Sequence[float], other: Sequence[float]) -> SeedDifference:
    """How far one number is above another, seed by seed; of two seeds at least."""
    mean, low, high = student_interval(np.subtract(one, other))
    return SeedDifference(float(mean), float(low), float(high))


def accuracy_ranges(repeats: Repeats, kinds: Sequence[str]) -> dict[str, SeedRange]:
    """The share of right tokens at the end of each network, over all seeds."""
    return seed_ranges(dict(zip(kinds, zip(*repeats.accuracy, strict=True), strict=True)))


def to_json(compared: Comparison) -> dict[str, Any]:
    """A comparison as JSON-ready values, numbers of looks to DIGITS digits that count; without gradients."""
    return {
        "config": asdict(compared.config),  # type: ignore[call-overload]
        "machine": compared.machine,
        "places": list(compared.places),
        "looks": [_rounded(asdict(look)) for look in compared.looks],
    }


def from_json(kept: Mapping[str, Any], config: Callable[..., AlikeConfig]) -> Comparison:
    """Read the text that `to_json` wrote.

    Args:
        config: makes the config of its fields.
    """
    looks = tuple(ComparisonEvaluation(**each(look, tuples)) for look in kept["looks"])
    return Comparison(config(**kept["config"]), looks, tuple(kept["places"]), (), kept["machine"])


def repeats_from_json(kept: Mapping[str, Any]) -> Repeats:
    """Repeats of their fields as JSON has them."""
    return Repeats(**{name: tuples(value) for name, value in kept.items()})


def each(fields: Mapping[str, Any], of_list: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Fields whose lists are made into something else."""
    return {name: of_list(value) if isinstance(value, list) else value for name, value in fields.items()}


def tuples(value: list[Any]) -> tuple[Any, ...]:
    """Lists of lists as tuples of tuples."""
    return tuple(tuples(inner) if isinstance(inner, list) else inner for inner in value)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
