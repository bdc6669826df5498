"""Findings on the loss with a sublayer or a block skipped."""

from dataclasses import dataclass

import numpy as np

from tfcore.views.finding import Finding
from tfcore.views.inside.stream.measure.skip import Skips, skip_name


@dataclass(frozen=True, slots=True)
class LossIncreases(Finding):
    """The largest mean loss increase of all skips, and that of one of them.

    Args:
        worst, worst_mean: the skip with the largest mean, and that mean, in nats per token; of those measured.
        chosen, chosen_mean: the skip that is looked at, and its mean; None where it is not measured yet.
        raised, tokens: how many tokens have a loss more than 1 nat higher with the chosen skip, of how many.
    """

    worst: str
    worst_mean: float
    chosen: str
    chosen_mean: float | None
    raised: int
    tokens: int

    @property
    def sentence(self) -> str:
        if self.chosen_mean is None:
            return (
                f"Largest mean on this text until now: {self.worst}, {self.worst_mean:+.2f} nats per token; "
                f"{self.chosen} is not measured yet."
            )
        return (
            f"Largest mean on this text: {self.worst}, {self.worst_mean:+.2f} nats per token; {self.chosen}: "
            f"{self.chosen_mean:+.2f}; tokens whose loss rises by more than 1 nat with it: "
            f"{self.raised} of {self.tokens}."
        )


def loss_increases(found: Skips, row: int) -> LossIncreases:
    """The largest mean increase of all skips, and those of the skip in `row`."""
    names = [skip_name(one) for one in found.skipped]
    means = found.loss_increase.mean(1)
    worst = int(np.nanargmax(means))
    return LossIncreases(
        worst=names[worst],
        worst_mean=float(means[worst]),
        chosen=names[row],
        chosen_mean=None if np.isnan(means[row]) else float(means[row]),
        raised=int(np.sum(found.loss_increase[row] > 1)),
        tokens=found.loss_increase.shape[1],
    )
