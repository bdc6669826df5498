"""One exercise with its numbers drawn, and questions that are read from a figure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from tfcore.analysis.finding import Finding
from tfcore.measures.token_text import visible

CLOSE = 0.01  # relative: what counts as the same number
BYTES = ("GB",)  # units in which answers are counted in bytes
APART = 3.0  # tolerances that a mistake must be away from the answer to be told from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An exercise.

    Args:
        given: the values drawn, by the names that the words use.
        answer: the number asked for, in base units: bytes, not gigabytes.
        mistakes: name of a mistake -> the number it leads to. Those that come out too near to the answer, or to an
            earlier mistake, to be told apart are left out.
        tolerance: largest relative error that counts as right; 0 where a whole number must be exact.
    """

    given: Mapping[str, Any]
    answer: float
    mistakes: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = CLOSE

    def __post_init__(self) -> None:
        if not math.isfinite(self.answer):
            raise ValueError(f"the answer {self.answer} is no number; draw other values")
        told: dict[str, float] = {}
        for name, value in self.mistakes.items():
            if all(self._apart(value, other) for other in (self.answer, *told.values())):
                told[name] = value
        object.__setattr__(self, "mistakes", told)

    def _apart(self, value: float, other: float) -> bool:
        room = APART * max(self.tolerance, 1e-9) * max(abs(other), abs(value))
        return math.isfinite(value) and abs(value - other) > room

    def is_right(self, value: float) -> bool:
        """Whether a number is the answer, up to the tolerance."""
        return self._hits(value, self.answer)

    def mistake(self, value: float) -> str | None:
        """The name of the mistake that leads to this number."""
        return next((name for name, wrong in self.mistakes.items() if self._hits(value, wrong)), None)

    def _hits(self, value: float, target: float) -> bool:
        return abs(value - target) <= max(self.tolerance, 1e-9) * abs(target) + 1e-12


def guessed_right(questions: int, right: int, probability: float) -> float:
    """The probability of at least so many right answers by guessing: sum_{k >= right} C(n, k) p^k (1 - p)^(n - k)."""
    terms = (
        math.comb(questions, k) * probability**k * (1 - probability) ** (questions - k)
        for k in range(right, questions + 1)
    )
    return sum(terms)


@dataclass(frozen=True, slots=True)
class GuessedRounds(Finding):
    """How often a round of ten questions with four options each is guessed.

    Args:
        some, many: probability of at least 4 and of at least 7 right answers.
    """

    some: float
    many: float

    @property
    def sentence(self) -> str:
        return (
            f"It might: who guesses gets 4 or more right in {self.some:.0%} of all rounds, the sum of the binomial "
            f"terms from 4 on. 7 or more happen in {self.many:.1%}."
        )


def guessed_rounds() -> GuessedRounds:
    """Both probabilities."""
    return GuessedRounds(guessed_right(10, 4, 0.25), guessed_right(10, 7, 0.25))


@dataclass(frozen=True, slots=True)
class RoundProgress(Finding):
    """How much of a round is answered.

    Args:
        number: of the round.
        questions, chapters: in it.
        answered, right: how many of the questions.
    """

    number: int
    questions: int
    chapters: int
    answered: int
    right: int

    @property
    def title(self) -> str:
        """The round by its number."""
        return f"Round {self.number:,}"

    @property
    def sentence(self) -> str:
        return (
            f"{self.questions} questions of {self.chapters} chapters; {self.answered} answered, {self.right} of them "
            "right."
        )


@dataclass(frozen=True, slots=True)
class OffBy(Finding):
    """How far a number is from the answer, where no known mistake explains it."""

    value: float
    answer: float

    @property
    def sentence(self) -> str:
        if self.value * self.answer <= 0:
            return "That is not it."
        factor = max(self.value / self.answer, self.answer / self.value)
        by = f"{factor - 1:.0%}" if factor < 2 else f"a factor of {factor:,.3g}"
        return f"That is too {'large' if abs(self.value) > abs(self.answer) else 'small'} by {by}."


def answer_text(value: float, unit: str) -> str:
    """An answer with its unit: bytes in GB, large numbers with commas."""
    value = value / 1e9 if unit in BYTES else value
    whole = abs(value) >= 1000 or float(value).is_integer()
    words = (f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.3e}") if whole else f"{value:.4g}"
    return f"{words} {unit}".strip()


Score = Literal["previous token", "induction", "entropy"]
KEYS: dict[Score, str] = {"previous token": "the previous token", "induction": "the token after the earlier occurrence"}
DISTINCT = 0.04  # options differ by at least this probability


@dataclass(frozen=True, slots=True)
class HeadsMeasured(Finding):
    """A score of each of some heads, which have letters for names.

    Args:
        score: what was measured.
        values: letter -> score; entropy in bits, the others a mean weight.
    """

    score: Score
    values: dict[str, float]

    def measure(self, letter: str) -> str:
        """The score of one head in words."""
        value = self.values[letter]
        if self.score == "entropy":
            return f"{value:.2f} bits of entropy"
        return f"{value:.2f} of its weight on {KEYS[self.score]}"

    def why_not(self, letter: str) -> str:
        """Why a head is not the one with the highest score."""
        return f"Head {letter} has {self.measure(letter)}; another one has {max(self.values.values()):.2f}."

    @property
    def sentence(self) -> str:
        return "Six attention maps. Measured: " + "; ".join(f"{a}: {self.measure(a)}" for a in self.values) + "."


@dataclass(frozen=True, slots=True)
class NextTokens(Finding):
    """The most probable next tokens of a text, the most probable first."""

    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def sentence(self) -> str:
        pairs = zip(self.tokens, self.probabilities, strict=True)
        return "The five likeliest next tokens: " + ", ".join(f"{visible(token)} {p:.1%}" for token, p in pairs) + "."


def drawn_of_100(probabilities: Sequence[float]) -> list[tuple[str, str]] | None:
    """How often one of the first two tokens is drawn in 100 draws: the answer, and what it is mistaken for.

    Returns:
        (option, why it is not right) with the right one first; None where two of them would look alike.
    """
    first, second = probabilities[:2]
    entries = [
        (first + second, ""),
        (first, "That is the likeliest token alone: the second counts, too."),
        (sum(probabilities), "That is all five together."),
        (first * second, "That multiplies the two: it is one draw, which gives one or the other."),
    ]
    shown = sorted(value for value, _ in entries)
    if any(b - a <= DISTINCT for a, b in pairwise(shown)):
        return None
    return [(f"about {100 * value:.0f} times", why) for value, why in entries]
