"""One exercise with its numbers drawn."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
