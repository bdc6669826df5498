"""Trainings of three networks on one task, side by side: what is kept of them, as values and as JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from tfcore.checks import check_choice, check_number, check_whole
from tfcore.training.recurrent.gradients import Arriving

TaskName = Literal["copy", "recall", "addition", "characters"]
TASKS: tuple[TaskName, ...] = get_args(TaskName)
MOST_TOKENS = 900_000  # of a training: about a minute for all three networks on two cores
KEPT = Path(__file__).with_name("comparisons.json")
REPEATED = Path(__file__).with_name("seeds.json")
DIGITS = 4  # that count, in JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonConfig:
    """One task, and a training that is the same for the three networks.

    Args:
        task: copy letters; recall the one that was marked; sums modulo a prime; the next character of a text.
        length: letters to copy; tokens of a row of recall; characters read at once. Sums have their own.
        steps, rows: optimiser steps, and sequences per step.
        lr: peak of the learning rate.
        seed: of weights and batches.

    Raises:
        ValueError: naming the value and what would do.
    """

    task: TaskName = "copy"
    length: int = 10
    steps: int = 300
    rows: int = 32
    lr: float = 3e-3
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self, task=TaskName)
        check_whole(self, length=(4, 48), steps=(2, 2_000), rows=(1, 256), seed=(0, 9_999))
        check_number(self, lr=(1e-5, 0.1))
        if self.tokens > MOST_TOKENS:
            most = MOST_TOKENS // (self.rows * self.seq)
            raise ValueError(
                f"{self.steps} steps of {self.rows} rows of {self.seq} tokens would take more than about a minute; "
                f"take {most} steps at most"
            )

    @property
    def seq(self) -> int:
        """Tokens that a network reads."""
        return {"copy": 2 * self.length, "addition": 4}.get(self.task, self.length)

    @property
    def tokens(self) -> int:
        """Tokens of the whole training, of one network."""
        return self.steps * self.rows * self.seq


BEGIN: dict[TaskName, ComparisonConfig] = {
    "copy": ComparisonConfig(task="copy", length=10, steps=300),
    "recall": ComparisonConfig(task="recall", length=16, steps=900),
    "addition": ComparisonConfig(task="addition", length=4, steps=400, rows=128),
    "characters": ComparisonConfig(task="characters", length=48, steps=240),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEvaluation:
    """The three networks after as many steps; tuples are in the order of KINDS.

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
        gradients: of the trained networks; none before the end.
        machine: where it was measured.
    """

    config: ComparisonConfig
    looks: tuple[ComparisonEvaluation, ...]
    places: tuple[int, ...]
    gradients: tuple[Arriving, ...] = ()
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
        tuple(_tuples(_rounded(run.last.accuracy)) for run in runs),
        tuple(_tuples(_rounded(run.last.by_place)) for run in runs),
    )


def to_json(compared: Comparison) -> dict[str, Any]:
    """A comparison as JSON-ready values, numbers of looks to DIGITS digits that count."""
    return {
        "config": asdict(compared.config),
        "machine": compared.machine,
        "places": list(compared.places),
        "looks": [_rounded(asdict(look)) for look in compared.looks],
        "gradients": [_each_plain(one) for one in compared.gradients],  # in full: the product is compared with them
    }


def from_json(kept: Mapping[str, Any]) -> Comparison:
    """Read the text that `to_json` wrote."""
    looks = tuple(ComparisonEvaluation(**_each(look, _tuples)) for look in kept["looks"])
    gradients = tuple(Arriving(**_each(one, np.array)) for one in kept["gradients"])
    return Comparison(ComparisonConfig(**kept["config"]), looks, tuple(kept["places"]), gradients, kept["machine"])


@cache
def kept_comparison(task: TaskName) -> Comparison:
    """The comparison of a task that ships: `python -m tfcore.training recurrence` makes it anew."""
    return from_json(json.loads(KEPT.read_text("utf-8"))[task])


@cache
def kept_repeats(task: TaskName) -> Repeats:
    """The shipped repeats of the same training with other seeds; that of `kept_comparison` is among them."""
    kept = json.loads(REPEATED.read_text("utf-8"))[task]
    return Repeats(**{name: _tuples(value) for name, value in kept.items()})


def _each_plain(one: Arriving) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(one).items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _each(fields: Mapping[str, Any], of_list: Callable[[list[Any]], Any]) -> dict[str, Any]:
    return {name: of_list(value) if isinstance(value, list) else value for name, value in fields.items()}


def _tuples(value: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuples(inner) if isinstance(inner, list) else inner for inner in value)
