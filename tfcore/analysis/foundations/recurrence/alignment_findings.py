"""What is said of an encoder-decoder with and without attention."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.recurrence.alignment import LENGTHS, TRAINED, AlignmentLook, Order


@dataclass(frozen=True, slots=True)
class RightByLength(Finding):
    """Right letters without and with attention.

    Args:
        step: optimiser steps of each.
        trained: the longest length trained on, with the shares of right letters (without, with) there.
        longest: the same for the longest that is tested.
    """

    step: int
    trained: tuple[int, float, float]
    longest: tuple[int, float, float]

    @property
    def sentence(self) -> str:
        said = [
            f"of {length} letters {without:.0%} are right from one vector and {attending:.0%} with attention"
            for length, without, attending in (self.trained, self.longest)
        ]
        return (
            f"After {self.step:,} steps, free-running: {said[0]}; {said[1]}. The longest rows in "
            f"training have {self.trained[0]} letters."
        )


@dataclass(frozen=True, slots=True)
class AlignedLetters(Finding):
    """Where the weights of an alignment are.

    Args:
        letters: written.
        right: of these.
        near: those whose largest weight is on the letter that they repeat or on one beside it.
        exact: those whose largest weight is on that letter itself.
    """

    letters: int
    right: int
    near: int
    exact: int

    @property
    def sentence(self) -> str:
        return (
            f"Of {self.letters} letters written {self.right} are right. {self.near} have their largest weight on the "
            f"letter that they repeat or on one beside it, {self.exact} on the letter itself: each state of the "
            "encoder knows its neighbours."
        )


@dataclass(frozen=True, slots=True)
class PlaceKept(Finding):
    """How long an alignment keeps its place in rows longer than those trained on.

    Args:
        trained: letters of the longest row in training.
        letters: of the rows here.
        first: share of letters, of the first `trained` written, whose largest weight is on the letter that they repeat
            or on one beside it.
        rest: the same of those written after.
    """

    trained: int
    letters: int
    first: float
    rest: float

    @property
    def sentence(self) -> str:
        return (
            f"In rows of {self.letters} letters the largest weight is on the right letter or one beside it for "
            f"{self.first:.0%} of the first {self.trained} written, and for {self.rest:.0%} of those after."
        )


def right_by_length(look: AlignmentLook) -> RightByLength:
    """At the longest length of training and the longest tested."""
    at = LENGTHS.index(TRAINED[1])
    ends = [(LENGTHS[i], look.plain.by_length[i], look.attending.by_length[i]) for i in (at, len(LENGTHS) - 1)]
    return RightByLength(look.step, ends[0], ends[1])


def aligned_letters(look: AlignmentLook, order: Order) -> AlignedLetters:
    """Of the row that is shown."""
    n = len(look.read)
    source = list(range(n)) if order == "copy" else list(range(n))[::-1]
    off = [abs(int(look.alignment[i].argmax()) - source[i]) for i in range(n)]
    right = sum(look.wrote[i] == look.read[source[i]] for i in range(n))
    return AlignedLetters(n, right, sum(one <= 1 for one in off), off.count(0))


def place_kept(look: AlignmentLook) -> PlaceKept:
    """Of the longest rows."""
    cut, followed = TRAINED[1], look.followed
    after = followed[cut:]
    return PlaceKept(cut, len(followed), sum(followed[:cut]) / cut, sum(after) / len(after))
