"""A sample of the features of `stories`' dictionaries, rated by a language model after a written rule."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.features.feature_scan import SCAN_FILE, TEXTS, FeatureScan
from tfcore.analysis.inside.features.readability import LEAST_FIRES
from tfcore.analysis.statistics import wilson
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER

RATINGS_FILE = "ratings.json"
OF_EACH = 10  # features of a dictionary that were rated
RULE = (
    f"2 where one phrase names what the places of all {TEXTS} strongest held-out texts have in common, 1 where it "
    "names what most of them have in common, 0 where it names less"
)


class Rating(NamedTuple):
    """What was said of a feature: 0 to 2 by RULE, and the phrase, empty for 0."""

    score: int
    phrase: str


Ratings = Mapping[str, Mapping[int, Rating]]  # what a dictionary predicts -> feature -> rating


def drawn_features(scan: FeatureScan, seed: int) -> list[list[int]]:
    """Which features of each dictionary are rated: OF_EACH at random of those that fired LEAST_FIRES times."""
    rng = np.random.default_rng(seed)
    counted = [np.flatnonzero(fires >= LEAST_FIRES) for fires in scan.fires]
    return [sorted(rng.choice(features, OF_EACH, replace=False).tolist()) for features in counted]


def load_ratings(model: str, folder: Path | None = None) -> Ratings:
    """The ratings that ship beside the dictionaries of a model; none where they were made of other features."""
    place = folder or PRETRAINED / model / FOLDER
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


@dataclass(frozen=True, slots=True)
class RatedSample(Finding):
    """How the features that were drawn were rated.

    Args:
        dictionary: what one dictionary is called.
        scores: how many of its features were rated 0, 1 and 2.
        of_all: how many features of all dictionaries were rated 2.
        rated: how many were rated.
    """

    dictionary: str
    scores: tuple[int, int, int]
    of_all: int
    rated: int

    @property
    def sentence(self) -> str:
        low, high = wilson(self.of_all, self.rated)
        none, most, every = self.scores
        return (
            f"A language model read and rated {sum(self.scores)} features of {self.dictionary}, drawn at "
            f"random: {every} with 2, {most} with 1, {none} with 0 ({RULE}). Of all five "
            f"dictionaries, {self.of_all} of {self.rated} have 2 "
            f"({self.of_all / self.rated:.0%}, 95 % interval {low:.0%} to {high:.0%})."
        )


def rated_sample(ratings: Ratings, writes: str, name: str) -> RatedSample | None:
    """Count the ratings of the dictionary that predicts `writes`, called `name`; None where there are none."""
    if writes not in ratings:
        return None
    every = [rating.score for each in ratings.values() for rating in each.values()]
    own = [rating.score for rating in ratings[writes].values()]
    return RatedSample(name, (own.count(0), own.count(1), own.count(2)), every.count(2), len(every))
