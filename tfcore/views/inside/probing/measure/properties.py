"""Properties of words that a probe may read off the residual stream, and the labels of a control task."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from tfcore.measures.token_text import visible
from tfcore.views.inside.probing.measure.tagged_text import SIGN, TAGS, TaggedWord, TokenizedWords

EDGES = (12, 24, 36)  # tokens, between the classes of position
LENGTHS = (3, 5)  # letters of the longest short and the longest medium word
NEXT = 6  # most frequent next tokens
SEED = 0  # of the labels of the control task


@dataclass(frozen=True, slots=True)
class Labelled:
    """The words that have a label.

    Args:
        classes: names of the labels.
        index: which words of the text these are.
        labels: of each of them.
        control: of each of them in the control task: one random label for each word type.
    """

    classes: tuple[str, ...]
    index: Int[ndarray, " word"]
    labels: Int[ndarray, " word"]
    control: Int[ndarray, " word"]


def part_of_speech(text: TokenizedWords) -> list[str | None]:
    """The part of speech of each word, as tagged by hand."""
    return [TAGS[word.tag] for word in text.words]


def letter_case(text: TokenizedWords) -> list[str | None]:
    """Whether the first letter is a capital."""
    return ["capital" if word.text[0].isupper() else "small" for word in text.words]


def word_length(text: TokenizedWords) -> list[str | None]:
    """Letters, in three classes."""
    short, medium = LENGTHS
    names = (f"1 to {short} letters", f"{short + 1} to {medium}", f"{medium + 1} or more")
    return [names[(len(word.text) > short) + (len(word.text) > medium)] for word in text.words]


def position(text: TokenizedWords) -> list[str | None]:
    """The place of the word's last token in its passage, in classes between EDGES."""
    bounds = (0, *EDGES)
    names = [f"{a} to {b - 1}" for a, b in zip(bounds, EDGES, strict=False)] + [f"{EDGES[-1]} on"]
    return [names[int(np.searchsorted(EDGES, place, side="right"))] for place in text.last]


def seen_before(text: TokenizedWords) -> list[str | None]:
    """Whether the same word, in capitals or not, stands earlier in the passage."""
    seen: set[tuple[int, str]] = set()
    labels: list[str | None] = []
    for word in text.words:
        one = (word.passage, word.text.casefold())
        labels.append("seen" if one in seen else "new")
        seen.add(one)
    return labels


def next_token(text: TokenizedWords) -> list[str | None]:
    """The token after the word, where it is one of the most frequent ones there."""
    pairs = zip(text.words, text.following, strict=True)
    following = [piece if piece and word.tag != SIGN else None for word, piece in pairs]
    counts = Counter(piece for piece in following if piece is not None)
    frequent = sorted(counts, key=lambda piece: (-counts[piece], piece))[:NEXT]
    return [visible(piece) if piece in frequent and piece is not None else None for piece in following]


PROPERTIES: dict[str, Callable[[TokenizedWords], list[str | None]]] = {
    "part of speech": part_of_speech,
    "letter case": letter_case,
    "word length": word_length,
    "position": position,
    "seen before": seen_before,
    "next token": next_token,
}
ORDERED = {"part of speech": tuple(TAGS.values())}  # of the others the classes stand in the order of their numbers


def label_words(text: TokenizedWords, name: str) -> Labelled:
    """The labels of a property, punctuation left out.

    Control task (arXiv:1909.03368): every word type gets one label, drawn at random from the true labels of
    all words, so that the labels are as frequent as the true ones, and only memory of single words can predict them.
    """
    given = PROPERTIES[name](text)
    pairs = enumerate(zip(text.words, given, strict=True))
    kept = [(i, one) for i, (word, one) in pairs if word.tag != SIGN and one is not None]
    index = np.array([i for i, _ in kept], dtype=np.int64)
    words = {one for _, one in kept}
    classes = tuple(one for one in ORDERED.get(name, sorted(words, key=_natural)) if one in words)
    labels = np.array([classes.index(one) for _, one in kept], dtype=np.int64)
    return Labelled(classes, index, labels, control_labels([text.words[i] for i in index], labels))


def control_labels(words: Sequence[TaggedWord], labels: Int[ndarray, " word"]) -> Int[ndarray, " word"]:
    """One label for each word type, drawn from all labels; the types in the order of their first word."""
    types = [word.text.casefold() for word in words]
    drawn = np.random.default_rng(SEED).choice(labels, len(set(types)))
    own = dict(zip(dict.fromkeys(types), drawn, strict=True))
    return np.array([own[one] for one in types], dtype=np.int64)


def _natural(name: str) -> tuple[int, str]:
    first = name.split()[0]
    return (int(first) if first.isdigit() else 0, name)
