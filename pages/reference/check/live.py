"""Questions that are read from a live figure: the options and the right one come from a real model."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from pages.reference.check.kinds import Reading
from pages.reference.check.round import Asked, Slot
from pages.ui import cache, text
from pages.ui.components.figure import figure
from pages.ui.reading import first_tokens
from tfcore.analysis.reference.questions.problem import HeadsMeasured, NextTokens, Score, drawn_of_100
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.tiles import tiles
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.text_loss import next_tokens

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
SHORT = 24  # tokens of a map


@dataclass(frozen=True, slots=True)
class Read:
    """A question with its figure.

    Args:
        asked: as of any other question.
        draw: the figure.
        height: in pixels.
        alt, caption: of the figure.
    """

    asked: Asked
    draw: Callable[[], Any]
    height: int
    alt: str
    caption: str


def read(slot: Slot) -> Read:
    """A reading, with its values drawn and measured."""
    question = slot.question
    if not isinstance(question, Reading):
        raise TypeError(f"{question.name} is no reading")
    return {"previous": _heads, "spread": _heads, "induction": _heads, "next": _next}[question.figure](
        question, slot.rng
    )


@cache.data(max_entries=24)
def _maps(pasted: str, seed: int) -> Any:
    """Patterns and scores of all heads of the default model on a text, or (empty) on repeated random tokens."""
    model = cache.model(MODEL)[0]
    if pasted:
        ids = first_tokens(MODEL, pasted, SHORT).ids
    else:
        once = Random(seed).sample(range(model.config.vocab_size), SHORT // 2)
        ids = once + once
    return attention_maps(model, ids)


def _heads(question: Reading, rng: Random) -> Read:
    """Six heads, of which one does clearly more of what is asked."""
    pasted = "" if question.figure == "induction" else rng.choice(TEXTS)
    found = _maps(pasted, rng.randrange(20))
    kind = KINDS[question.figure]
    scores = found.heads.entropy if kind == "entropy" else found.heads.scores[kind]
    clear = 0.85 if kind == "entropy" else 0.6
    places = sorted(np.ndindex(scores.shape), key=lambda place: -scores[place])
    best, others = places[0], [place for place in places[1:] if scores[place] < clear * scores[places[0]]]
    chosen = [best, *rng.sample(others, len(LETTERS) - 1)]
    rng.shuffle(chosen)
    measured = HeadsMeasured(kind, {letter: float(scores[at]) for letter, at in zip(LETTERS, chosen, strict=True)})
    whys = tuple(map(measured.why_not, LETTERS))
    values = {"text": text.escape(pasted), "score": float(scores[best]), "n": SHORT // 2}
    one = Asked(
        question.ask.format(**values),
        question.because.format(**values),
        question.look,
        tuple(f"head {letter}" for letter in LETTERS),
        whys,
        (question.look,) * len(LETTERS),
        chosen.index(best),
    )
    maps = np.stack([found.patterns[place] for place in chosen])
    n = maps.shape[-1]
    return Read(
        one,
        lambda: _six(maps),
        430,
        alt=str(measured),
        caption=f"Six of the model's heads, each a map (query, key) = ({n}, {n}); the darker on light paper, the more "
        f"weight.",
    )


def _six(maps: Any) -> Any:
    titles = [f"<b>{letter}</b>" for letter in LETTERS]
    return tiles(maps, titles, 3, hovers=[f"head {letter}" for letter in LETTERS], height=430)


@cache.data(max_entries=24)
def _guesses(pasted: str) -> NextTokens:
    """The five likeliest next tokens of the default model."""
    model, tokenizer = cache.model(MODEL)
    found = next_tokens(model, first_tokens(MODEL, pasted, 64).ids, 5)
    return NextTokens(tuple(tokenizer.tokens(found.ids.tolist())), tuple(found.probabilities.tolist()))


def _next(question: Reading, rng: Random) -> Read:
    """The five likeliest tokens; the question is how often one of the first two is drawn."""
    for pasted in rng.sample(BEGINNINGS, len(BEGINNINGS)):
        found = _guesses(pasted)
        if (entries := drawn_of_100(found.probabilities)) is not None:
            break
    else:
        raise ValueError("none of the texts gives options that differ: choose other BEGINNINGS")
    right = entries[0]
    rng.shuffle(entries)
    options, whys = zip(*entries, strict=True)
    labels = text.tick_labels(found.tokens)
    values = {"text": text.escape(pasted), "score": sum(found.probabilities[:2])}
    one = Asked(
        question.ask.format(**values),
        question.because.format(**values),
        question.look,
        options,
        whys,
        (question.look,) * len(entries),
        entries.index(right),
    )
    return Read(
        one,
        lambda: guesses_figure(np.array(found.probabilities), labels, height=220),
        220,
        alt=str(found),
        caption="Probability of the next token after the text, (vocab,), its five largest.",
    )


def show(one: Read, key: str) -> None:
    """Draw the figure."""
    figure(one.draw(), key=key, alt=one.alt, height=one.height, min_width=330, caption=one.caption)
