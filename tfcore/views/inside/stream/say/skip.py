"""Findings on the loss with a sublayer or a block skipped."""

from collections.abc import Sequence

import numpy as np

from tfcore.views.finding import Statement, state
from tfcore.views.inside.stream.measure.skip import Skips


def loss_increases(skips: Skips, row: int, names: Sequence[str]) -> Statement:
    """The largest mean increase of all skips, and those of the skip in `row`, in nats per token.

    Args:
        names: of the skips.
    """
    means = skips.loss_increase.mean(1)
    worst = int(np.nanargmax(means))
    values = {"worst": names[worst], "worst_mean": float(means[worst]), "chosen": names[row]}
    if np.isnan(means[row]):
        return state(
            "loss increases until now",
            "Largest mean on this text until now: {worst}, {worst_mean:+.2f} nats per token; {chosen} is not measured "
            "yet.",
            **values,
        )
    return state(
        "loss increases",
        "Largest mean on this text: {worst}, {worst_mean:+.2f} nats per token; {chosen}: {chosen_mean:+.2f}; tokens "
        "whose loss rises by more than 1 nat with it: {raised} of {tokens}.",
        **values,
        chosen_mean=float(means[row]),
        raised=int(np.sum(skips.loss_increase[row] > 1)),
        tokens=skips.loss_increase.shape[1],
    )
