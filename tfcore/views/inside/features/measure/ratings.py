"""A sample of the features of `stories`' dictionaries, rated by a language model after a written rule."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER
from tfcore.measures.dictionaries.feature_scan import SCAN_FILE, TEXTS, FeatureScan

RATINGS_FILE = "ratings.json"
LEAST_FIRES = 10  # firings of a feature of which shares are taken
HALF = 0.5  # of the places at which a feature is active
OF_EACH = 10  # features of a dictionary that were rated
RULE = (
    f"2 where one phrase names what the places of all {TEXTS} strongest held-out texts have in common, 1 where it "
    "names what most of them have in common, 0 where it names less"
)


class Rating(NamedTuple):
    """A rating of a feature: 0 to 2 by RULE, and the phrase, empty for 0."""

    score: int
    phrase: str


Ratings = Mapping[str, Mapping[int, Rating]]  # what a dictionary predicts -> feature -> rating


def drawn_features(scan: FeatureScan, seed: int) -> list[list[int]]:
    """Which features of each dictionary are rated: OF_EACH at random of those that fired LEAST_FIRES times."""
    rng = np.random.default_rng(seed)
    counted = [np.flatnonzero(fires >= LEAST_FIRES) for fires in scan.fires]
    return [sorted(rng.choice(features, OF_EACH, replace=False).tolist()) for features in counted]


def load_ratings(name: str, folder: Path | None = None) -> Ratings:
    """The ratings that ship beside the dictionaries of a model; none where they were made of other features."""
    place = folder or PRETRAINED / name / FOLDER
    file = place / RATINGS_FILE
    if not file.exists():
        return {}
    said = json.loads(file.read_text("utf-8"))
    if said["scan"] != hashlib.sha256((place / SCAN_FILE).read_bytes()).hexdigest():
        return {}
    return {
        name: {int(feature): Rating(*rating) for feature, rating in each.items()}
        for name, each in said["ratings"].items()
    }


def named_tokens(phrase: str, pieces: Sequence[str]) -> set[int]:
    """The tokens that a phrase names: what stands in quotation marks before its condition, or a phrase of one word;
    with and without the space before it. Empty where it names a kind of token, as in "a name".

    Args:
        pieces: the text of every token of the vocabulary.
    """
    named = re.findall("“([^”]+)”", re.split(r" after | of | before |, ", phrase)[0])
    if not named and phrase and " " not in phrase:
        named = [phrase]
    wanted = {form for one in named for form in (one, f" {one}")}
    return {id_ for id_, piece in enumerate(pieces) if piece in wanted}


def share_elsewhere(scan: FeatureScan, dictionary: int, feature: int, tokens: set[int]) -> float:
    """The share of given tokens among the places at which a feature is active, without the TEXTS strongest.

    Tokens that are not among the most frequent ones that a scan keeps count as 0; their share is below an eighth.
    """
    fires, kept = int(scan.fires[dictionary, feature]), scan.value[dictionary, feature] > 0
    shares = zip(scan.token[dictionary, feature].tolist(), scan.token_share[dictionary, feature].tolist(), strict=True)
    on = sum(round(share * fires) for token, share in shares if token in tokens)
    places = zip(scan.window[dictionary, feature][kept], scan.position[dictionary, feature][kept], strict=True)
    rated = [int(scan.windows[window, position]) for window, position in places]
    return max(0, on - sum(token in tokens for token in rated)) / (fires - len(rated))
