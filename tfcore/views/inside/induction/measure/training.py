"""A training in which induction heads form: a film of the shipped model, and one grown here and now."""

from collections.abc import Sequence

import numpy as np

from tfcore.measures.heads.induction_heads import STRONG
from tfcore.measures.heads.induction_moments import Moment
from tfcore.training.growing import GrowConfig, film_moment, film_steps, grow
from tfcore.views.kept import kept

moment_of = kept(film_moment, entries=64)  # by the number of its frame


def film() -> list[Moment]:
    """Every frame of the film."""
    return [moment_of(frame) for frame in range(len(film_steps()))]


def grown(config: GrowConfig) -> list[Moment]:
    """A small model in training, measured every few steps."""
    return [moment for moment in grow(config) if moment is not None]


def loss_fall(moments: Sequence[Moment]) -> tuple[int, int] | None:
    """The steps between which the loss on the second copy falls from a tenth of its way to nine tenths, so far; None
    before there is an induction head."""
    if not any(m.induction.max() >= STRONG for m in moments):
        return None
    losses = np.array([m.second_loss for m in moments])
    top, bottom = float(losses.max()), float(losses.min())
    after = int(losses.argmax())
    marks = [
        next(i for i in range(after, len(losses)) if losses[i] <= top - share * (top - bottom)) for share in (0.1, 0.9)
    ]
    return moments[marks[0]].step, moments[marks[1]].step
