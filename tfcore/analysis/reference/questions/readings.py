"""Questions that are read from a figure: what was measured of it, and what it is mistaken for."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tfcore.analysis.finding import Finding
from tfcore.analysis.token_text import visible

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
