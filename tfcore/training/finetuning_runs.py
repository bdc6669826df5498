"""Fine-tuning: the settings of a run, and what is kept of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from tfcore.checks import check_choice, check_number, check_whole

Method = Literal["full", "last", "lora"]
METHODS: tuple[Method, ...] = get_args(Method)
RATES: dict[Method, float] = {"full": 3e-4, "last": 1e-3, "lora": 2e-3}  # the largest that did not diverge, about
ALPHA = 16.0  # of LoRA; the update is multiplied by ALPHA / rank
RANKS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuneConfig:
    """One run.

    Args:
        method: all weights, the last layers, or LoRA.
        layers: how many of the last layers "last" trains.
        rank: of LoRA.
        steps: of the optimiser.
        rate: the learning rate, in units of RATES[method].
        seed: of the batches and of LoRA's A.

    Raises:
        ValueError: naming the value and what would do.
    """

    method: Method = "lora"
    layers: int = 1
    rank: int = 8
    steps: int = 120
    rate: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self, method=Method)
        check_whole(self, layers=(1, 64), rank=(1, 256), steps=(1, 1_000), seed=(0, 1_000))
        check_number(self, rate=(0.01, 100.0))

    @property
    def lr(self) -> float:
        """The learning rate."""
        return RATES[self.method] * self.rate

    @property
    def name(self) -> str:
        """The method in words."""
        if self.method == "full":
            return "all weights"
        if self.method == "last":
            return f"the last {self.layers} layers" if self.layers > 1 else "the last layer"
        return f"LoRA of rank {self.rank}"


@dataclass(frozen=True, slots=True)
class Losses:
    """Held-out losses after some steps, nats per token.

    Args:
        step: optimiser steps done.
        new: on the text it is tuned on.
        old: on the stories it was trained on before.
    """

    step: int
    new: float
    old: float


@dataclass(frozen=True, slots=True)
class FineTuned:
    """A run, so far.

    Args:
        losses: before the first step, every few steps and after the last; at least one.
        continuations: of one prompt, before and after; the second is empty until the run has ended.
    """

    config: FineTuneConfig
    losses: tuple[Losses, ...]
    continuations: tuple[str, str]

    @property
    def has_ended(self) -> bool:
        """Whether it is at its last step."""
        return self.losses[-1].step == self.config.steps

    def over_seeds(self, others: "Sequence[FineTuned]") -> "list[FineTuned]":
        """The run itself, and those of others that have ended and differ from it in their seed alone."""
        same = [one for one in others if replace(one.config, seed=self.config.seed) == self.config]
        return [self, *(one for one in same if one.has_ended)]
