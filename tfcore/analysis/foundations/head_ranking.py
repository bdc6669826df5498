"""Find heads: all heads of a model ranked by what they do on a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.heads import HeadScores, Place
from tfcore.analysis.token_text import shorten, visible

LETTERS = 12  # of a token in a sentence
NAMED = 4  # heads that a sentence names
KIND = "kind"
PAIR = "pair"
ENTROPY = "entropy"
DISTANCE = "distance"
SPREAD = ("local", "broad")  # kinds of heads that do nothing definite


@dataclass(frozen=True, slots=True)
class Ranking:
    """One number for every head, by which heads are ranked.

    Args:
        by: KIND (how strongly the head is what its kind says), PAIR (weight from one token to another), ENTROPY (bits),
            DISTANCE (tokens), or a kind of HeadScores.scores.
        values: (layer, head).
        most: the end of the colour scale.
    """

    by: str
    values: Float[ndarray, "layer head"]
    most: float

    @property
    def order(self) -> list[Place]:
        """All heads, the largest value first."""
        flat = np.argsort(-self.values.ravel(), kind="stable")
        return [(int(i) // self.values.shape[1], int(i) % self.values.shape[1]) for i in flat]

    @property
    def unit(self) -> str:
        """What stands behind a value."""
        return {ENTROPY: " bits", DISTANCE: " tokens"}.get(self.by, "")

    def label(self, place: Place) -> str:
        """The value of a head in short."""
        return f"{self.values[place]:.1f}" if self.unit else f"{self.values[place]:.2f}"


def rank_heads(
    patterns: Float[ndarray, "layer head query key"],
    scores: HeadScores,
    kinds: HeadScores,
    by: str,
    query: int = 0,
    key: int = 0,
) -> Ranking:
    """Rank the heads.

    Args:
        scores: on this text.
        kinds: on the standard texts.
        query, key: of PAIR.
    """
    if by == PAIR:
        return Ranking(by, patterns[:, :, query, key], 1.0)
    if by == ENTROPY:
        return Ranking(by, scores.entropy, max(1.0, float(np.log2(max(2, patterns.shape[-1])))))
    if by == DISTANCE:
        return Ranking(by, scores.distance, max(1.0, float(scores.distance.max())))
    return Ranking(by, kinds.score if by == KIND else scores.scores[by], 1.0)


@dataclass(frozen=True, slots=True)
class StrongestHeads(Finding):
    """The first heads of a ranking.

    Args:
        what: that heads are ranked by, as words in a sentence.
        heads: (layer, head).
        values: theirs.
        unit: behind a value.
        total: how many heads there are.
    """

    what: str
    heads: tuple[Place, ...]
    values: tuple[float, ...]
    unit: str
    total: int

    @property
    def sentence(self) -> str:
        digits = 1 if self.unit else 2
        pairs = zip(self.heads, self.values, strict=True)
        named = ", ".join(f"{layer}.{head} with {value:.{digits}f}{self.unit}" for (layer, head), value in pairs)
        return f"Of {self.total} heads, the largest {self.what}: {named}."


def strongest_heads(
    ranking: Ranking, queries: Sequence[str], keys: Sequence[str], query: int = 0, key: int = 0
) -> StrongestHeads:
    """Name the first heads of a ranking; query and key are those of PAIR."""
    first = ranking.order[:NAMED]
    names = [f"'{shorten(visible(token), LETTERS)}'" for token in (queries[query], keys[key])]
    what = {
        KIND: "score of their kind on the standard texts",
        PAIR: f"weight from {names[0]} ({query}) to {names[1]} ({key})",
        ENTROPY: "entropy of their weights on this text",
        DISTANCE: "mean distance from query to key on this text",
        "broad": "entropy of their weights on this text, as a share of what it can be at most",
        "local": "weight on the 5 tokens to either side on this text",
    }.get(ranking.by, f"score of “{ranking.by}” on this text")
    values = tuple(float(ranking.values[place]) for place in first)
    return StrongestHeads(what, tuple(first), values, ranking.unit, ranking.values.size)


@dataclass(frozen=True, slots=True)
class Pair:
    """A query token and a key token."""

    query: int
    key: int


def strongest_pair(patterns: Float[ndarray, "layer head query key"], hidden: ndarray) -> Pair:
    """The two tokens with the largest weight of any head between them, neighbours, the tokens themselves and hidden
    keys apart; where there are no others, the last token and the first."""
    most = patterns.max(axis=(0, 1))  # (query, key)
    query, key = np.indices(most.shape)
    far = np.where((abs(query - key) > 1) & ~hidden[None, :], most, -1.0)
    best = int(far.argmax())
    if far.ravel()[best] <= 0:
        return Pair(most.shape[0] - 1, 0)
    return Pair(best // most.shape[1], best % most.shape[1])


def strongest_of(kinds: HeadScores, kind: str) -> list[Place]:
    """The heads of a kind, the strongest first."""
    places = [(int(layer), int(head)) for layer, head in np.argwhere(kinds.kind == kind)]
    return sorted(places, key=lambda place: -kinds.score[place])


def striking_head(kinds: HeadScores) -> Place:
    """The head to look at first: the strongest induction head, else the strongest one that does something definite."""
    score = np.where(kinds.kind == "induction", 1 + kinds.score, kinds.score)
    score = np.where(np.isin(kinds.kind, SPREAD), score - 1, score)
    best = int(score.argmax())
    return best // score.shape[1], best % score.shape[1]


@dataclass(frozen=True, slots=True)
class KindCounts(Finding):
    """How many heads of each kind a model has."""

    counts: tuple[tuple[str, int], ...]
    total: int

    @property
    def sentence(self) -> str:
        named = ", ".join(f"{count} {kind}" for kind, count in self.counts)
        return f"Kinds of the {self.total} heads: {named}."


def kinds_of_heads(kinds: HeadScores) -> KindCounts:
    """Count the kinds, the most frequent first."""
    names, counts = np.unique(kinds.kind.ravel().astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return KindCounts(tuple((str(names[i]), int(counts[i])) for i in order), kinds.kind.size)
