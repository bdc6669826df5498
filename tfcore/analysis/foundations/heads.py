"""What each attention head does, measured on its pattern: one number per head and per kind of behaviour."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tfcore.analysis.finding import Finding
from tfcore.measures.heads.kinds import HeadScores, Place

NAMED = 8  # heads that a sentence names


def order(scores: HeadScores, sort: str) -> list[Place]:
    """The heads by "place", "kind" or "score"; within a kind, and by score, the largest score first."""
    places = [(int(layer), int(head)) for layer, head in np.ndindex(scores.kind.shape)]
    if sort == "score":
        return sorted(places, key=lambda p: -scores.score[p])
    if sort == "kind":
        return sorted(places, key=lambda p: (scores.kind[p], -scores.score[p]))
    return places


def score_columns(scores: HeadScores) -> list[str]:
    """The columns of head_table that hold numbers with decimals."""
    return ["score", *scores.scores, "entropy (bits)", "mean distance (tokens)"]


def head_table(scores: HeadScores, kinds: HeadScores) -> pd.DataFrame:
    """Every head with everything measured about it, one row each.

    Args:
        scores: on a text.
        kinds: what kinds are told from; see standard_kinds.
    """
    rows = [
        {
            "layer": layer,
            "head": head,
            "kind": kinds.kind[layer, head],
            "score": kinds.score[layer, head],
            **{kind: values[layer, head] for kind, values in scores.scores.items()},
            "entropy (bits)": scores.entropy[layer, head],
            "mean distance (tokens)": scores.distance[layer, head],
        }
        for layer, head in order(scores, "place")
    ]
    return pd.DataFrame(rows)


@dataclass(frozen=True, slots=True)
class HeadKind(Finding):
    """The kind of one head and its score.

    Args:
        on: what the kind was told from, as in "this text".
    """

    layer: int
    head: int
    kind: str
    score: float
    on: str = "this text"

    @property
    def name(self) -> str:
        """The kind and the score: "induction 0.93"."""
        return f"{self.kind} {self.score:.2f}"

    @property
    def sentence(self) -> str:
        return f"Layer {self.layer}, head {self.head}: {self.name} on {self.on}."


def head_kind(scores: HeadScores, layer: int, head: int, on: str = "this text") -> HeadKind:
    """What one head does.

    Args:
        on: what the scores are of; those of induction may be of repeated random tokens.
    """
    kind = str(scores.kind[layer, head])
    on = "repeated random tokens" if kind == "induction" and scores.is_tested else on
    return HeadKind(layer, head, kind, float(scores.score[layer, head]), on)


@dataclass(frozen=True, slots=True)
class HeadKinds(Finding):
    """The kinds of some heads, in their order, out of `total`."""

    heads: tuple[HeadKind, ...]
    total: int

    @property
    def sentence(self) -> str:
        named = ", ".join(f"{one.layer}.{one.head} {one.name}" for one in self.heads[:NAMED])
        more = f" and {len(self.heads) - NAMED} more" if len(self.heads) > NAMED else ""
        return f"Attention maps of {len(self.heads)} of {self.total} heads, each with its kind: {named}{more}."


def head_kinds(scores: HeadScores, places: Sequence[Place]) -> HeadKinds:
    """What each of these heads does."""
    return HeadKinds(tuple(head_kind(scores, *place) for place in places), scores.kind.size)


@dataclass(frozen=True, slots=True)
class SameKind(Finding):
    """The kind of one head on two texts."""

    one: str
    other: str

    @property
    def verdict(self) -> str:
        return "the same on both" if self.one == self.other else f"{self.one} on one, {self.other} on the other"

    @property
    def sentence(self) -> str:
        return f"Kind of the head: {self.verdict}."


def same_kind(one: HeadScores, other: HeadScores, layer: int, head: int) -> SameKind:
    """Compare the kind of a head on two texts."""
    return SameKind(str(one.kind[layer, head]), str(other.kind[layer, head]))


@dataclass(frozen=True, slots=True)
class HeadsOfModels(Finding):
    """A head of each of two models on the same text: what kind each is there."""

    models: tuple[str, str]
    heads: tuple[HeadKind, HeadKind]

    @property
    def verdict(self) -> str:
        one, other = (head.kind for head in self.heads)
        return one if one == other else f"{one}, {other}"

    @property
    def sentence(self) -> str:
        one, other = (
            f"head {head.layer}.{head.head} of {model} is {head.name}"
            for model, head in zip(self.models, self.heads, strict=True)
        )
        return f"On this text {one}; {other}."


def heads_of_models(
    models: tuple[str, str], scores: tuple[HeadScores, HeadScores], places: tuple[Place, Place]
) -> HeadsOfModels:
    """Compare a head of one model with one of another, each on its own tokens of the text."""
    one, other = (head_kind(found, *place) for found, place in zip(scores, places, strict=True))
    return HeadsOfModels(models, (one, other))
