"""Labels of features that nobody wrote: a rule each, found in some texts and tried on others.

A rule says where a feature fires by one property of a place: its token, the one before or after, their kinds, the
position, or whether what the feature promotes comes next. The score of a rule is its balanced accuracy on texts that it
was not found in: the mean of the share of the feature's places that it finds and of the share of all others that it
leaves out. 0.5 is chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray

from tfcore.inspection.transcoders import Transcoder
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER, Transcoders
from tfcore.measures.atlas.token_kinds import KINDS, PARTITION, token_kinds
from tfcore.measures.dictionaries.feature_scan import Firings, counted_places
from tfcore.measures.lenses import unembedding
from tfcore.measures.neuron_scan import PADDING_ID
from tfcore.measures.stored_arrays import load_arrays, save_arrays
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

LABELS_FILE = "labels.safetensors"
Property = Literal["token", "before", "after", "kind", "kind before", "kind after", "position", "promoted"]
PROPERTIES: tuple[Property, ...] = get_args(Property)
OF_KINDS = ("kind", "kind before", "kind after")
CHOICES = 8  # values of a property that a rule names, at most
FEW_CHOICES = 2  # the same of kinds and positions, of which there are few
STEP = 8  # positions that count as one
LEAST_FIRES = 10  # places of a feature, without which there is no rule and no score
NOTHING = 65_535  # in the place of a value that is not there


@dataclass(frozen=True, slots=True)
class FeatureLabels:
    """The rule of each feature, and how good it is; dictionaries in the order of `Transcoders.each`.

    Args:
        rule: index in PROPERTIES; NOTHING where a feature fired too rarely for a rule.
        values: what the property is where the feature fires, the most telling first: ids of tokens, indices of
            PARTITION, or positions divided by STEP; NOTHING where there are fewer.
        found, marked: on texts that the rule was not found in, the share of the feature's places that it finds, and
            the share of all other places that it marks too; NaN where the feature fired too rarely there.
        fires: at how many of those places the feature fires.
        read: how many places there are.
    """

    rule: Integer[ndarray, "dictionary feature"]
    values: Integer[ndarray, "dictionary feature choice"]
    found: Float[ndarray, "dictionary feature"]
    marked: Float[ndarray, "dictionary feature"]
    fires: Integer[ndarray, "dictionary feature"]
    read: Integer[ndarray, " one"]

    @property
    def score(self) -> Float[ndarray, "dictionary feature"]:
        """Balanced accuracy of each rule; NaN where there is none."""
        balanced: Float[ndarray, "dictionary feature"] = (self.found + 1 - self.marked) / 2
        return balanced


class ReadPlaces(NamedTuple):
    """All places of some windows: what each property is there, NOTHING where there is no such value, and whether the
    place counts."""

    values: dict[str, Integer[ndarray, " place"]]
    counted: ndarray
    length: int

    def at(self, found: Firings) -> Integer[ndarray, " firing"]:
        """The places of firings."""
        return found.window * self.length + found.position


def read_places(tokenizer: Tokenizer, windows: Integer[ndarray, "window length"]) -> ReadPlaces:
    """What each property, but for what is promoted, is at every place of some windows."""
    rows, length = windows.shape
    token = windows.astype(np.int64)
    kind = np.full(windows.shape, NOTHING)
    places = [KINDS.index(one) for one in PARTITION]
    for row, ids in zip(kind, windows, strict=True):
        own = ids[ids != PADDING_ID].tolist()
        row[: len(own)] = token_kinds(tokenizer, own)[:, places].argmax(1)
    token = np.where(token == PADDING_ID, NOTHING, token)
    position = np.broadcast_to(np.arange(length) // STEP, windows.shape)
    values = {"token": token, "before": _moved(token, 1), "after": _moved(token, -1), "position": position}
    values |= {"kind": kind, "kind before": _moved(kind, 1), "kind after": _moved(kind, -1)}
    return ReadPlaces(
        {name: value.reshape(rows * length) for name, value in values.items()}, counted_places(windows).ravel(), length
    )


def _moved(values: Integer[ndarray, "window length"], by: int) -> Integer[ndarray, "window length"]:
    """Each place with the value of a neighbour in its window."""
    moved = np.full(values.shape, NOTHING)
    if by > 0:
        moved[:, by:] = values[:, :-by]
    else:
        moved[:, :by] = values[:, -by:]
    return moved


@torch.no_grad()
def promoted_tokens(model: Transformer, one: Transcoder, at_once: int = 512) -> Integer[ndarray, "feature choice"]:
    """The CHOICES tokens whose logits each feature raises most: gamma * row of W_dec, through the unembedding."""
    rows = (one.W_dec * model.decoder.ln_final.weight).split(at_once)
    table = unembedding(model).T
    return torch.cat([(part @ table).topk(CHOICES).indices for part in rows]).cpu().numpy()


def label_features(
    transcoders: Transcoders,
    promoted: Sequence[Integer[ndarray, "feature choice"]],
    found_in: tuple[ReadPlaces, Sequence[Firings]],
    tried_on: tuple[ReadPlaces, Sequence[Firings]],
) -> FeatureLabels:
    """The rule of each feature that fits best where it is found, and its score on other texts.

    Args:
        promoted: for each dictionary what `promoted_tokens` says.
        found_in, tried_on: places of windows, and what fires there in each dictionary.
    """
    each = [
        _of_dictionary(one.config.n_features, raised, (found_in[0], own), (tried_on[0], other))
        for one, raised, own, other in zip(transcoders.each, promoted, found_in[1], tried_on[1], strict=True)
    ]
    stacked = {name: np.stack([one[name] for one in each]) for name in each[0]}
    return FeatureLabels(read=np.array([int(tried_on[0].counted.sum())]), **stacked)


def _of_dictionary(
    n: int,
    promoted: Integer[ndarray, "feature choice"],
    found_in: tuple[ReadPlaces, Firings],
    tried_on: tuple[ReadPlaces, Firings],
) -> dict[str, ndarray]:
    """The arrays of FeatureLabels for one dictionary."""
    fitted = {name: _rules(n, found_in, name) for name in PROPERTIES[:-1]} | {"promoted": promoted}
    scores = np.stack([np.subtract(*_shares(n, found_in, name, rule)) for name, rule in fitted.items()])
    rule = scores.argmax(0)
    values = np.stack(list(fitted.values()))[rule, np.arange(n)]
    rare = np.bincount(found_in[1].feature, minlength=n) < LEAST_FIRES
    rule[rare], values[rare] = NOTHING, NOTHING
    shares = np.full((2, n), np.nan)
    for i, name in enumerate(PROPERTIES):
        own = rule == i
        shares[:, own] = np.stack(_shares(n, tried_on, name, values))[:, own]
    fires = np.bincount(tried_on[1].feature, minlength=n)
    shares[:, fires < LEAST_FIRES] = np.nan
    kept = {"rule": rule.astype(np.uint16), "values": values.astype(np.uint16), "fires": fires.astype(np.uint32)}
    return {**kept, "found": shares[0].astype(np.float32), "marked": shares[1].astype(np.float32)}


def _rules(n: int, found_in: tuple[ReadPlaces, Firings], name: str) -> Integer[ndarray, "feature choice"]:
    """For each feature the values of a property that separate its places best from all others: the largest
    differences between their share of the feature's places and their share of the others, all above 0."""
    places, found = found_in
    values = places.values[name]
    size = NOTHING + 1
    everywhere = np.bincount(values[places.counted], minlength=size)
    fires = np.bincount(found.feature, minlength=n)
    pair, count = np.unique(found.feature * size + values[places.at(found)], return_counts=True)
    feature, value = np.divmod(pair, size)
    rest = np.maximum(places.counted.sum() - fires[feature], 1)
    gain = count / fires[feature] - (everywhere[value] - count) / rest
    wanted = (gain > 0) & (value != NOTHING)
    feature, value, gain = feature[wanted], value[wanted], gain[wanted]
    order = np.lexsort((-gain, feature))
    feature, value = feature[order], value[order]
    rank = np.arange(len(feature)) - np.searchsorted(feature, feature)
    few = rank < (FEW_CHOICES if name in OF_KINDS or name == "position" else CHOICES)
    rules = np.full((n, CHOICES), NOTHING)
    rules[feature[few], rank[few]] = value[few]
    return rules


def _shares(
    n: int, tried_on: tuple[ReadPlaces, Firings], name: str, rules: Integer[ndarray, "feature choice"]
) -> tuple[Float[ndarray, " feature"], Float[ndarray, " feature"]]:
    """The share of each feature's places that its rule finds, and the share of all others that it marks."""
    places, found = tried_on
    values = places.values["after" if name == "promoted" else name]
    size = NOTHING + 1
    everywhere = np.bincount(values[places.counted], minlength=size)
    everywhere[NOTHING] = 0  # no rule names it
    fires = np.bincount(found.feature, minlength=n)
    named = (np.arange(n)[:, None] * size + rules)[rules != NOTHING]
    hit = np.isin(found.feature * size + values[places.at(found)], named)
    hits = np.bincount(found.feature[hit], minlength=n)
    marked = everywhere[rules].sum(1) - hits
    return hits / np.maximum(fires, 1), marked / np.maximum(places.counted.sum() - fires, 1)


HALF = ("found", "marked")


def save_labels(folder: Path, labels: FeatureLabels) -> None:
    """Write labels beside the dictionaries."""
    save_arrays(folder / LABELS_FILE, labels, HALF)


@lru_cache(maxsize=4)
def load_labels(name: str) -> FeatureLabels:
    """The labels of a shipped model's features, read once.

    Raises:
        CheckpointError: it has none, or the file is damaged.
    """
    return load_arrays(FeatureLabels, PRETRAINED / name / FOLDER / LABELS_FILE, HALF, "transcoders")
