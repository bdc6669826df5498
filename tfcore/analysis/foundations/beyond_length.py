"""What becomes of a model that reads further than it was trained to: the ladder of position schemes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

COLUMN = "loss_"  # and the last position of a bucket


@dataclass(frozen=True, slots=True)
class Beyond:
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


def finding(found: Beyond, names: Mapping[str, str]) -> str:
    """The schemes in order of their loss at the trained length, and of its rise beyond it."""
    near = sorted(found.loss, key=lambda scheme: found.mean(scheme)[found.within])
    far = sorted(found.loss, key=found.rise)
    losses = ", ".join(f"{names[scheme]} {found.mean(scheme)[found.within]:.2f}" for scheme in near)
    rises = ", ".join(f"{names[scheme]} {found.rise(scheme):+.2f}" for scheme in far)
    return f"At position {found.trained} the loss is: {losses}. From there to {found.ends[-1]} it changes by: {rises}."


def beyond(rows: Sequence[Mapping[str, Any]]) -> Beyond | None:
    """The table of recipe `ladder-positions`; None while it has no row."""
    if not rows:
        return None
    ends = [int(name.removeprefix(COLUMN)) for name in rows[0] if name.startswith(COLUMN)]
    losses: dict[str, list[list[float]]] = {}
    for row in rows:
        losses.setdefault(row["scheme"], []).append([row[f"{COLUMN}{end}"] for end in ends])
    return Beyond(rows[0]["seq"], np.array(ends), {scheme: np.array(found) for scheme, found in losses.items()})
