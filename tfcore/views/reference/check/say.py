"""Words of a round of questions: how much of it is answered, how far off a number is, and what was measured."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from tfcore.measures.token_text import visible
from tfcore.views.finding import Statement, state
from tfcore.views.reference.check.measure.problem import BYTES, guessed_right

Score = Literal["previous token", "induction", "entropy"]
KEYS: dict[Score, str] = {"previous token": "the previous token", "induction": "the token after the earlier occurrence"}
DISTINCT = 0.04  # options differ by at least this probability


def guessed_rounds() -> Statement:
    """How often a round of ten questions with four options each is guessed."""
    return state(
        "guessed rounds",
        "It might: who guesses gets 4 or more right in {some:.0%} of all rounds, the sum of the binomial terms from 4 "
        "on. 7 or more happen in {many:.1%}.",
        some=guessed_right(10, 4, 0.25),
        many=guessed_right(10, 7, 0.25),
    )


def progress(chapters: Sequence[str], states: Sequence[str]) -> Statement:
    """How much of a round is answered.

    Args:
        chapters, states: of each question; a state is "right", "wrong" or "open".
    """
    return state(
        "progress",
        "{questions} questions of {chapters} chapters; {answered} answered, {right} of them right.",
        questions=len(chapters),
        chapters=len(set(chapters)),
        answered=len(states) - states.count("open"),
        right=states.count("right"),
    )


def off_by(value: float, answer: float) -> Statement:
    """How far a number is from the answer, where no known mistake explains it."""
    if value * answer <= 0:
        return state("off by", "That is not it.")
    factor = max(value / answer, answer / value)
    by = "{share:.0%}" if factor < 2 else "a factor of {factor:,.3g}"
    size = "large" if abs(value) > abs(answer) else "small"
    return state("off by", f"That is too {size} by {by}.", share=factor - 1, factor=factor)


def answer_text(value: float, unit: str) -> str:
    """An answer with its unit: bytes in GB, large numbers with commas."""
    value = value / 1e9 if unit in BYTES else value
    whole = abs(value) >= 1000 or float(value).is_integer()
    words = (f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.3e}") if whole else f"{value:.4g}"
    return f"{words} {unit}".strip()


def score_words(score: Score, value: float) -> str:
    """The score of one head: an entropy in bits, or a mean weight."""
    return f"{value:.2f} bits of entropy" if score == "entropy" else f"{value:.2f} of its weight on {KEYS[score]}"


def heads_measured(score: Score, values: Mapping[str, float]) -> Statement:
    """A score of each of some heads, which have letters for names."""
    words = "; ".join(f"{letter}: {score_words(score, value)}" for letter, value in values.items())
    return state("heads measured", "Six attention maps. Measured: {words}.", words=words)


def why_not(score: Score, values: Mapping[str, float], letter: str) -> str:
    """Why a head is not the one with the highest score."""
    return f"Head {letter} has {score_words(score, values[letter])}; another one has {max(values.values()):.2f}."


def likeliest_five(tokens: Sequence[str], probabilities: Sequence[float]) -> Statement:
    """The most probable next tokens of a text, the most probable first."""
    pairs = zip(tokens, probabilities, strict=True)
    words = ", ".join(f"{visible(token)} {probability:.1%}" for token, probability in pairs)
    return state("likeliest five", "The five likeliest next tokens: {words}.", words=words)


def drawn_of_100(probabilities: Sequence[float]) -> list[tuple[str, str]] | None:
    """How often one of the first two tokens is drawn in 100 draws: the answer, and its mistakes.

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
