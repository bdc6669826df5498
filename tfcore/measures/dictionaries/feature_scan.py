"""For each feature of a model's dictionaries: how often and on which tokens it fires in held-out texts, and the texts
in which it is strongest. One scan, kept beside the weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Integer
from numpy import ndarray

from tfcore.inspection.transcoders import Transcoder
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER, Transcoders
from tfcore.measures.neuron_scan import PADDING_ID, SETTLED
from tfcore.measures.stored_arrays import load_arrays, save_arrays
from tfcore.model import Transformer

SCAN_FILE = "features.safetensors"
BINS = 24  # of a histogram, from 0 to the largest activation
TOKENS = 8  # most frequent tokens kept a feature
TEXTS = 5  # strongest texts kept a feature


@dataclass(frozen=True, slots=True)
class FeatureScan:
    """A scan of each feature over held-out texts; dictionaries in the order of `Transcoders.each`.

    Args:
        windows: token ids of the windows named below, each read by itself; PADDING_ID after the end of a shorter one.
        window, position, value: the strongest activations, one place a window, the largest first; value 0 where a
            feature fired in fewer windows.
        fires: at how many tokens a feature was above 0.
        token, token_share: the tokens it fired on most often, and their shares of `fires`; 0 where there are fewer.
        histogram: shares of `fires` by activation, in BINS equal steps from 0 to the largest.
        read: tokens that were counted.
    """

    windows: Integer[ndarray, "window seq"]
    window: Integer[ndarray, "dictionary feature rank"]
    position: Integer[ndarray, "dictionary feature rank"]
    value: Float[ndarray, "dictionary feature rank"]
    fires: Integer[ndarray, "dictionary feature"]
    token: Integer[ndarray, "dictionary feature choice"]
    token_share: Float[ndarray, "dictionary feature choice"]
    histogram: Float[ndarray, "dictionary feature bin"]
    read: Integer[ndarray, " one"]

    def ids(self, window: int) -> list[int]:
        """The tokens of a window."""
        row = self.windows[window]
        return row[row != PADDING_ID].tolist()

    def peaks(self, dictionary: int) -> Integer[ndarray, "feature rank"]:
        """The token ids at which each feature is strongest in its strongest texts."""
        window, position = (of[dictionary].astype(np.int64) for of in (self.window, self.position))
        return self.windows[window, position]

    def record(self, dictionary: int) -> Float[ndarray, " feature"]:
        """The largest activation of each feature; 1 for those that never fired, to divide by it."""
        largest = self.value[dictionary, :, 0]
        return np.where(largest > 0, largest, 1.0).astype(np.float32)


class Firings(NamedTuple):
    """Every place of some windows at which a feature of one dictionary is above 0.

    Args:
        feature: which.
        value: its activation.
        window, position, token: where, and the id of the token there.
    """

    feature: Integer[ndarray, " firing"]
    value: Float[ndarray, " firing"]
    window: Integer[ndarray, " firing"]
    position: Integer[ndarray, " firing"]
    token: Integer[ndarray, " firing"]


def counted_places(windows: Integer[ndarray, "window length"]) -> Bool[ndarray, "window length"]:
    """The places that a scan counts: no padding, and none of the first SETTLED."""
    counted: Bool[ndarray, "window length"] = windows != PADDING_ID
    counted[:, :SETTLED] = False
    return counted


@torch.no_grad()
def find_firings(
    model: Transformer, transcoders: Transcoders, windows: Integer[ndarray, "window length"], rows: int = 64
) -> list[Firings]:
    """Run a model over all windows: where the features of each dictionary fire, at the places that are counted."""
    batches: list[list[tuple[ndarray, ...]]] = [[] for _ in transcoders.each]
    names = sorted({one.config.reads for one in transcoders.each})
    for first in range(0, len(windows), rows):
        part = windows[first : first + rows].astype(np.int64)
        row, position = np.nonzero(counted_places(part))
        ids = np.where(part == PADDING_ID, 0, part)
        activations = model.activations(torch.tensor(ids).to(model.device), names)
        for own, one in zip(batches, transcoders.each, strict=True):
            x = activations[one.config.reads][torch.tensor(row), torch.tensor(position)]
            values, features = (t.cpu().numpy() for t in one.top_features(x))
            at, choice = np.nonzero(values > 0)
            own.append(
                (features[at, choice], values[at, choice], row[at] + first, position[at], ids[row[at], position[at]])
            )
    return [Firings(*(np.concatenate(part) for part in zip(*own, strict=True))) for own in batches]


def scan_features(
    model: Transformer, transcoders: Transcoders, windows: Integer[ndarray, "window length"], rows: int = 64
) -> FeatureScan:
    """Run a model over all windows; the first SETTLED tokens of each are not counted."""
    if not counted_places(windows).any():
        raise ValueError("there are no tokens to scan; give longer windows")
    return scan_of(transcoders, windows, find_firings(model, transcoders, windows, rows))


def scan_of(
    transcoders: Transcoders, windows: Integer[ndarray, "window length"], found: Sequence[Firings]
) -> FeatureScan:
    """The scan of what was found in windows."""
    each = [_of_dictionary(one, own) for one, own in zip(transcoders.each, found, strict=True)]
    stacked = {name: np.stack([one[name] for one in each]) for name in each[0]}
    named, index = np.unique(stacked.pop("window"), return_inverse=True)
    window = index.reshape(stacked["position"].shape).astype(np.uint16)
    read = int(counted_places(windows).sum())
    return FeatureScan(windows=windows[named], window=window, read=np.array([read]), **stacked)


def _of_dictionary(one: Transcoder, found: Firings) -> dict[str, ndarray]:
    """The arrays of a FeatureScan for one dictionary."""
    feature, value, window, position, token = found
    n = one.config.n_features
    fires = np.bincount(feature, minlength=n)
    order = np.lexsort((-value, feature))
    feature, value, window, position, token = (a[order] for a in (feature, value, window, position, token))
    starts = np.concatenate(([0], np.cumsum(fires)))
    kept: dict[str, ndarray] = {
        "window": np.zeros((n, TEXTS), dtype=np.int64),
        "position": np.zeros((n, TEXTS), dtype=np.uint8),
        "value": np.zeros((n, TEXTS), dtype=np.float32),
        "token": np.zeros((n, TOKENS), dtype=np.uint16),
        "token_share": np.zeros((n, TOKENS), dtype=np.float32),
        "histogram": np.zeros((n, BINS), dtype=np.float32),
    }
    for i in np.flatnonzero(fires):
        own = slice(starts[i], starts[i + 1])
        _, first = np.unique(window[own], return_index=True)  # the largest of each window
        chosen = np.sort(first)[:TEXTS]
        for name, array in (("window", window), ("position", position), ("value", value)):
            kept[name][i, : len(chosen)] = array[own][chosen]
        ids, counts = np.unique(token[own], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:TOKENS]
        kept["token"][i, : len(most)] = ids[most]
        kept["token_share"][i, : len(most)] = counts[most] / fires[i]
        bins, _ = np.histogram(value[own], BINS, (0, float(value[own].max())))
        kept["histogram"][i] = bins / fires[i]
    return {**kept, "fires": fires.astype(np.uint32)}


HALF = ("value", "token_share", "histogram")


def save_feature_scan(folder: Path, scan: FeatureScan, licence: str) -> None:
    """Write a scan beside the dictionaries.

    Args:
        licence: of the text in the windows; kept in the file.
    """
    save_arrays(folder / SCAN_FILE, scan, HALF, licence)


@lru_cache(maxsize=2)
def load_feature_scan(name: str) -> FeatureScan:
    """The scan of a shipped model's dictionaries, read once.

    Raises:
        CheckpointError: it has none, or the file is damaged.
    """
    return load_arrays(FeatureScan, PRETRAINED / name / FOLDER / SCAN_FILE, HALF, "transcoders")
