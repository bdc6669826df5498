"""A sample of the features of `stories`' dictionaries, rated by a language model after a written rule."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.features.readability import LEAST_FIRES
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER
from tfcore.measures.dictionaries.feature_scan import SCAN_FILE, TEXTS, FeatureScan
from tfcore.measures.statistics import wilson
from tfcore.tokenizers.tokenizer import Tokenizer

RATINGS_FILE = "ratings.json"
HALF = 0.5  # of the places at which a feature is active
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
            f"random, and gave 2 points to {every}, 1 to {most} and 0 to {none} ({RULE}). Of all five "
            f"dictionaries, {self.of_all} of {self.rated} have 2 points "
            f"({self.of_all / self.rated:.0%}, 95 % interval {low:.0%} to {high:.0%})."
        )


def rated_sample(ratings: Ratings, writes: str, name: str) -> RatedSample | None:
    """Count the ratings of the dictionary that predicts `writes`, called `name`; None where there are none."""
    if writes not in ratings:
        return None
    every = [rating.score for each in ratings.values() for rating in each.values()]
    own = [rating.score for rating in ratings[writes].values()]
    return RatedSample(name, (own.count(0), own.count(1), own.count(2)), every.count(2), len(every))


@dataclass(frozen=True, slots=True)
class PhrasesElsewhere(Finding):
    """Whether phrases that were found at the strongest places hold at all other places too.

    Args:
        rated: features that were rated.
        named: of these, those whose phrase names tokens of the vocabulary.
        half: of these, those that are active on the named tokens at half or more of all places but the rated ones.
        first: of these, those that are active on a named token more often than on any other token.
    """

    rated: int
    named: int
    half: int
    first: int

    @property
    def sentence(self) -> str:
        return (
            f"These phrases are of the strongest places. {self.named} of {self.rated} name a token: {self.half} of "
            f"these {self.named} features are active on it at half or more of all other held-out places, and for "
            f"{self.first} it is the token on which they are active most often."
        )


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


def phrases_elsewhere(
    ratings: Ratings, scan: FeatureScan, writes: Sequence[str], tokenizer: Tokenizer
) -> PhrasesElsewhere | None:
    """Over all dictionaries, whose names in the ratings are `writes`, in the scan's order; None without ratings."""
    if not ratings:
        return None
    pieces = tokenizer.tokens(list(range(tokenizer.vocab_size)))
    named = [
        (dictionary, feature, tokens)
        for dictionary, name in enumerate(writes)
        for feature, rating in ratings[name].items()
        if (tokens := named_tokens(rating.phrase, pieces))
    ]
    half = sum(share_elsewhere(scan, *one) >= HALF for one in named)
    first = sum(int(scan.token[dictionary, feature, 0]) in tokens for dictionary, feature, tokens in named)
    return PhrasesElsewhere(sum(map(len, ratings.values())), len(named), half, first)
