"""Questions that are read from a live figure: the options and the right one come from a real model."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np

from pages.reference.check.question_kinds import ReadingQuestion
from pages.reference.check.round import Asked, Slot
from pages.ui import text
from tfcore.views.reference import check as views
from tfcore.views.reference.check.say import Score, drawn_of_100, why_not
from tfcore.views.view import View

TEXTS = (
    "Once upon a time there was a little dog named Max. Max had a red ball.",
    "Lily went to the park with her mom. She saw a big bird and she was happy.",
    "Tom and Sue like to play in the sun. One day, Tom found a small box.",
    "There was a cat who lived in a house. The cat liked to sleep on the bed.",
    "Ben had a toy car. He gave the toy car to Ann, and Ann said thank you.",
    "The sun was hot. A boy sat under the tree and ate a cake with his friend.",
)
BEGINNINGS = (
    "Lily was very happy. She went to the park and saw a big",
    "Once upon a time there was a little",
    "Tom opened the box. Inside, there was a",
    "The dog ran after the",
    "Mom said, “It is time to go to",
    "The little bird wanted to fly, but it was too",
    "Ben was sad because he lost his",
    "They played all day in the",
)
MODEL = "stories"
LETTERS = "ABCDEF"  # of the heads
KINDS: dict[str, Score] = {"previous": "previous token", "induction": "induction", "spread": "entropy"}


class Read(NamedTuple):
    """A question with its figure.

    Args:
        asked: as of any other question.
        view: the figure, under a key.
    """

    asked: Asked
    view: Callable[[str], View]


def read(slot: Slot) -> Read:
    """A reading, with its values drawn and measured."""
    question = slot.question
    if not isinstance(question, ReadingQuestion):
        raise TypeError(f"{question.name} is no reading")
    return {"previous": _heads, "spread": _heads, "induction": _heads, "next": _next}[question.figure](
        question, slot.rng
    )


def _heads(question: ReadingQuestion, rng: Random) -> Read:
    """Six heads, of which one does clearly more of what is asked."""
    pasted = "" if question.figure == "induction" else rng.choice(TEXTS)
    seed, kind = rng.randrange(20), KINDS[question.figure]
    scores = views.scores_of(views.maps_of(MODEL, pasted, seed), kind)
    clear = 0.85 if kind == "entropy" else 0.6
    places = sorted(np.ndindex(scores.shape), key=lambda place: -scores[place])
    best, others = places[0], [place for place in places[1:] if scores[place] < clear * scores[places[0]]]
    chosen = [best, *rng.sample(others, len(LETTERS) - 1)]
    rng.shuffle(chosen)
    measured = {letter: float(scores[at]) for letter, at in zip(LETTERS, chosen, strict=True)}
    values = {"text": text.escape(pasted), "score": float(scores[best]), "n": views.SHORT // 2}
    one = Asked(
        question.ask.format(**values),
        question.because.format(**values),
        question.look,
        tuple(f"head {letter}" for letter in LETTERS),
        tuple(why_not(kind, measured, letter) for letter in LETTERS),
        (question.look,) * len(LETTERS),
        chosen.index(best),
    )
    return Read(one, lambda key: views.six_heads(MODEL, pasted, seed, chosen, kind, key))


def _next(question: ReadingQuestion, rng: Random) -> Read:
    """The five likeliest tokens; the question is how often one of the first two is drawn."""
    for pasted in rng.sample(BEGINNINGS, len(BEGINNINGS)):
        _, probabilities = views.next_five_of(MODEL, pasted)
        if (entries := drawn_of_100(probabilities)) is not None:
            break
    else:
        raise ValueError("none of the texts gives options that differ: choose other BEGINNINGS")
    right = entries[0]
    rng.shuffle(entries)
    options, whys = zip(*entries, strict=True)
    values = {"text": text.escape(pasted), "score": sum(probabilities[:2])}
    one = Asked(
        question.ask.format(**values),
        question.because.format(**values),
        question.look,
        options,
        whys,
        (question.look,) * len(entries),
        entries.index(right),
    )
    return Read(one, lambda key: views.likeliest_five(MODEL, pasted, key))
