"""A sparse dictionary in training, measured on windows that it is not trained on, beside the one that ships."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.features.quality import Quality
from tfcore.inspection.transcoders import Transcoder
from tfcore.model import Transformer

NAMED = 3  # tokens that a feature is shown with
CLOSE = 0.7  # cosine from which two features count as close
SEED = 0  # of the random directions that cosines are compared with


@dataclass(frozen=True, slots=True)
class DictionaryMoment:
    """A dictionary after some steps of training.

    Args:
        step: optimiser steps done.
        quality: on held-out windows.
        shipped: the same measures, on the same windows, of the dictionary that ships.
        cosine: for each feature the largest cosine of what it writes with what a feature of that dictionary writes.
        closest: which feature of that dictionary it is.
        by_chance: the median of the largest cosine for as many random directions.
    """

    step: int
    quality: Quality
    shipped: Quality
    cosine: Float[ndarray, " feature"]
    closest: Integer[ndarray, " feature"]
    by_chance: float


def closest_features(
    one: Transcoder, shipped: Transcoder
) -> tuple[Float[ndarray, " feature"], Integer[ndarray, " feature"]]:
    """For each feature the largest cosine of its row of W_dec with a row of another dictionary's, and which row."""
    return _closest(one.W_dec.detach().cpu().numpy(), shipped)


def chance_cosine(shipped: Transcoder, count: int) -> float:
    """The median of the largest cosine of `count` random directions with the rows of a dictionary's W_dec."""
    drawn = np.random.default_rng(SEED).standard_normal((count, shipped.config.d_model))
    largest, _ = _closest(drawn, shipped)
    return float(np.median(largest))


def _closest(
    rows: Float[ndarray, "feature d_model"], shipped: Transcoder
) -> tuple[Float[ndarray, " feature"], Integer[ndarray, " feature"]]:
    others = shipped.W_dec.detach().cpu().numpy()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ (others / np.linalg.norm(others, axis=1, keepdims=True)).T
    return cosines.max(1), cosines.argmax(1)


@dataclass(frozen=True, slots=True)
class GrownFeatures:
    """On what each feature of a dictionary fires.

    Args:
        fires: at how many tokens of the windows a feature is above 0.
        tokens: ids of the NAMED tokens it fires on most often, the most frequent first; -1 where there are fewer.
        share: of `fires`, that on the first of them; 0 where it does not fire.
    """

    fires: Integer[ndarray, " feature"]
    tokens: Integer[ndarray, "feature rank"]
    share: Float[ndarray, " feature"]


@torch.no_grad()
def grown_features(
    model: Transformer, dictionary: Transcoder, windows: Integer[ndarray, "window seq"], settled: int
) -> GrownFeatures:
    """On what each feature fires, over windows of equal length.

    Args:
        settled: tokens at the beginning of each window that are not counted.
    """
    config, ids = dictionary.config, torch.from_numpy(windows.astype(np.int64)).to(model.device)
    x = model.activations(ids, config.reads)[config.reads][:, settled:]
    on = (dictionary.encode(x) > 0).flatten(0, 1).cpu().numpy()  # (token, feature)
    read = windows[:, settled:].ravel().astype(np.int64)
    tokens, share = np.full((config.n_features, NAMED), -1), np.zeros(config.n_features)
    for feature in np.flatnonzero(on.any(0)):
        found, counts = np.unique(read[on[:, feature]], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:NAMED]
        tokens[feature, : len(most)] = found[most]
        share[feature] = counts.max() / counts.sum()
    return GrownFeatures(on.sum(0), tokens, share)


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
