"""Length extrapolation: the loss of a model beyond the length it was trained at, for each position scheme."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.finding import Finding

COLUMN = "loss_"  # and the last position of a bucket


@dataclass(frozen=True, slots=True)
class LengthLosses:
    """Losses by position of models trained alike, each with its own position scheme (the experiment of
    arXiv:2108.12409, section 3).

    Args:
        trained: tokens per sequence in training.
        ends: the last position of each bucket; its losses are averaged over the bucket.
        loss: scheme -> nats per token in every bucket, one row per seed.
    """

    trained: int
    ends: Int[ndarray, " bucket"]
    loss: dict[str, Float[ndarray, "seed bucket"]]

    @property
    def within(self) -> int:
        """Which bucket is the last one within the trained length."""
        return int(np.flatnonzero(self.ends <= self.trained)[-1])

    def mean(self, scheme: str) -> Float[ndarray, " bucket"]:
        """Over the seeds."""
        return self.loss[scheme].mean(0)

    def rise(self, scheme: str) -> float:
        """By how much the last bucket costs more than the last one within the trained length, in nats per token."""
        mean = self.mean(scheme)
        return float(mean[-1] - mean[self.within])


@dataclass(frozen=True, slots=True)
class LossesAndRises(Finding):
    """The schemes in order of their loss at the trained length, and of its rise beyond it.

    Args:
        trained, furthest: positions.
        losses: name of a scheme -> loss at the trained length, nats per token, the lowest first.
        rises: name of a scheme -> rise from there to the furthest position, the smallest first.
    """

    trained: int
    furthest: int
    losses: dict[str, float]
    rises: dict[str, float]

    @property
    def sentence(self) -> str:
        losses = ", ".join(f"{name} {loss:.2f}" for name, loss in self.losses.items())
        rises = ", ".join(f"{name} {rise:+.2f}" for name, rise in self.rises.items())
        return (
            f"At position {self.trained} the loss is: {losses}. From there to {self.furthest} it changes by: {rises}."
        )


def losses_and_rises(found: LengthLosses, names: Mapping[str, str]) -> LossesAndRises:
    """All schemes in order; `names` says how they are called."""
    near = sorted(found.loss, key=lambda scheme: found.mean(scheme)[found.within])
    far = sorted(found.loss, key=found.rise)
    return LossesAndRises(
        found.trained,
        int(found.ends[-1]),
        {names[scheme]: float(found.mean(scheme)[found.within]) for scheme in near},
        {names[scheme]: found.rise(scheme) for scheme in far},
    )


@dataclass(frozen=True, slots=True)
class SmallestAndLargestRise(Finding):
    """The schemes whose loss rises least and most beyond the trained length, in nats per token."""

    trained: int
    furthest: int
    best: str
    best_rise: float
    worst: str
    worst_rise: float

    @property
    def sentence(self) -> str:
        worst = "" if self.worst == self.best else f", {self.worst} {self.worst_rise:+.2f}"
        return (
            f"At position {self.furthest} {self.best} costs {self.best_rise:+.2f} nats per token against position "
            f"{self.trained}{worst}."
        )


def smallest_and_largest_rise(found: LengthLosses, names: Mapping[str, str]) -> SmallestAndLargestRise:
    """Compare the schemes in `names`, which says how they are called."""
    best, worst = min(names, key=found.rise), max(names, key=found.rise)
    return SmallestAndLargestRise(
        found.trained, int(found.ends[-1]), names[best], found.rise(best), names[worst], found.rise(worst)
    )


def length_losses(rows: Sequence[Mapping[str, Any]]) -> LengthLosses | None:
    """The table of recipe `ladder-positions`; None while it has no row."""
    if not rows:
        return None
    ends = [int(name.removeprefix(COLUMN)) for name in rows[0] if name.startswith(COLUMN)]
    losses: dict[str, list[list[float]]] = {}
    for row in rows:
        losses.setdefault(row["scheme"], []).append([row[f"{COLUMN}{end}"] for end in ends])
    return LengthLosses(rows[0]["seq"], np.array(ends), {scheme: np.array(found) for scheme, found in losses.items()})
