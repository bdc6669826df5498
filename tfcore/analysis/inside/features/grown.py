"""A sparse dictionary in training, measured on windows that it is not trained on, beside the one that ships."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.analysis.finding import Finding
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.dictionaries.quality import Quality

CLOSE = 0.7  # cosine from which two features count as close


@dataclass(frozen=True, slots=True)
class GrownQuality(Finding):
    """How good a dictionary is after some steps, beside the one that ships.

    Args:
        step: optimiser steps.
        features: rows of the dictionary.
        own, shipped: measures of both on the same tokens.
    """

    step: int
    features: int
    own: Quality
    shipped: Quality

    @property
    def sentence(self) -> str:
        own, shipped = self.own, self.shipped
        return (
            f"Step {self.step}, on {own.tokens:,} held-out tokens: loss recovered {own.loss_recovered:.1%} "
            f"(shipped {shipped.loss_recovered:.1%}), explained variance {own.explained_variance:.1%} "
            f"(shipped {shipped.explained_variance:.1%}), {own.l0:.1f} features a token (shipped {shipped.l0:.1f}); "
            f"{own.dead} of {self.features:,} features fire at none of these tokens."
        )


def grown_quality(moments: Sequence[DictionaryMoment]) -> GrownQuality:
    """At the last moment."""
    last = moments[-1]
    return GrownQuality(last.step, len(last.cosine), last.quality, last.shipped)


@dataclass(frozen=True, slots=True)
class SharedFeatures(Finding):
    """How like the shipped features those of a training are.

    Args:
        step: optimiser steps.
        features: that are compared.
        median, start: of the largest cosines, now and before the first step.
        by_chance: of random directions.
        close: features with a cosine of CLOSE or more.
    """

    step: int
    features: int
    median: float
    start: float
    by_chance: float
    close: int

    @property
    def sentence(self) -> str:
        return (
            f"Each feature beside the shipped one that writes most nearly the same: the median of the cosines is "
            f"{self.median:.2f} at step {self.step} ({self.start:.2f} at step 0, {self.by_chance:.2f} for random "
            f"directions). {self.close} of {self.features:,} have {CLOSE:g} or more."
        )


def shared_features(moments: Sequence[DictionaryMoment]) -> SharedFeatures:
    """At the last moment, beside the first."""
    first, last = moments[0], moments[-1]
    median, start = (float(np.median(one.cosine)) for one in (last, first))
    close = int((last.cosine >= CLOSE).sum())
    return SharedFeatures(last.step, len(last.cosine), median, start, last.by_chance, close)
