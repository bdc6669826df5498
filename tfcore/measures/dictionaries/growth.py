"""A dictionary at a step of its training, and how its features come to be those that ship."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray

from tfcore.inspection.transcoders import Transcoder
from tfcore.measures.dictionaries.quality import Quality
from tfcore.model import Transformer

NAMED = 3  # tokens that a feature is shown with
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
    """The tokens that each feature fires on, over windows of equal length.

    Args:
        settled: tokens at the beginning of each window that are not counted.
    """
    config, ids = dictionary.config, torch.tensor(windows.astype(np.int64)).to(model.device)
    x = model.activations(ids, config.reads)[config.reads][:, settled:]
    on = (dictionary.encode(x) > 0).flatten(0, 1).cpu().numpy()  # (token, feature)
    read = windows[:, settled:].ravel().astype(np.int64)
    tokens, share = np.full((config.n_features, NAMED), -1), np.zeros(config.n_features)
    for feature in np.flatnonzero(on.any(0)):
        words, counts = np.unique(read[on[:, feature]], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:NAMED]
        tokens[feature, : len(most)] = words[most]
        share[feature] = counts.max() / counts.sum()
    return GrownFeatures(on.sum(0), tokens, share)
