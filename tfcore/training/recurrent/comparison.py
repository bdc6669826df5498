"""Trainings of three networks on one task, side by side: what is kept of them, as values and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from tfcore.checks import check_choice, check_number, check_whole
from tfcore.training import alike
from tfcore.training.alike import Comparison, Repeats, each, repeats_from_json
from tfcore.training.recurrent.gradients import Arriving
from tfcore.training.recurrent.networks import IN_SENTENCE, KINDS, NAMES, Kind

TaskName = Literal["copy", "recall", "addition", "characters"]
TASKS: tuple[TaskName, ...] = get_args(TaskName)
MOST_TOKENS = 900_000  # of a training: about a minute for all three networks on two cores
KEPT = Path(__file__).with_name("comparisons.json")
REPEATED = Path(__file__).with_name("seeds.json")


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
    def kinds(self) -> tuple[Kind, ...]:
        """The three networks."""
        return KINDS

    @property
    def names(self) -> Mapping[str, str]:
        """Kind -> its name."""
        return cast("Mapping[str, str]", NAMES)

    @property
    def in_sentence(self) -> Mapping[str, str]:
        """Kind -> its name with an article."""
        return cast("Mapping[str, str]", IN_SENTENCE)

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


def to_json(compared: Comparison) -> dict[str, Any]:
    """A comparison as JSON-ready values, see `alike.to_json`; gradients in full: the product is compared with them."""
    return {**alike.to_json(compared), "gradients": [_each_plain(one) for one in compared.gradients]}


def from_json(kept: Mapping[str, Any]) -> Comparison:
    """Read the text that `to_json` wrote."""
    gradients = tuple(Arriving(**each(one, np.array)) for one in kept["gradients"])
    return replace(alike.from_json(kept, ComparisonConfig), gradients=gradients)


@cache
def kept_comparison(task: TaskName) -> Comparison:
    """The comparison of a task that ships: `python -m tfcore.training recurrence` makes it anew."""
    return from_json(json.loads(KEPT.read_text("utf-8"))[task])


@cache
def kept_repeats(task: TaskName) -> Repeats:
    """The shipped repeats of the same training with other seeds; that of `kept_comparison` is among them."""
    return repeats_from_json(json.loads(REPEATED.read_text("utf-8"))[task])


def _each_plain(one: Arriving) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(one).items()}
