"""What is said of an encoder-decoder with and without attention."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.measures.quantities import span
from tfcore.training.recurrent.alignment import LENGTHS, TRAINED, AlignmentLook, AlignmentRepeats, Order

LOST = 0.2  # by how much the share must be lower after the trained length for the place to count as lost


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
    """How long an alignment keeps its place in rows longer than those trained on, seed by seed.

    Args:
        trained: letters of the longest row in training.
        letters: of the rows here.
        first: share of letters, of the first `trained` written, whose largest weight is on the letter that they repeat
            or on one beside it; for each seed.
        rest: the same of those written after.
    """

    trained: int
    letters: int
    first: tuple[float, ...]
    rest: tuple[float, ...]

    @property
    def lost(self) -> int:
        """Seeds with which it is lost: the share after the trained length is lower by more than LOST."""
        return sum(first - rest > LOST for first, rest in zip(self.first, self.rest, strict=True))

    @property
    def sentence(self) -> str:
        first, rest = (span(shares, ".0%") for shares in (self.first, self.rest))
        said = (
            f"In rows of {self.letters} letters the largest weight is on the right letter or one beside it for "
            f"{first} of the first {self.trained} written, and for {rest} of those after (over {len(self.first)} "
            "seeds). "
        )
        if self.lost == len(self.first):
            return f"The alignment loses its place, with each of {self.lost} seeds. {said}".strip()
        return (
            f"The alignment loses its place with {self.lost} of {len(self.first)} seeds. {said}Where it keeps its "
            "place, letters of long rows are wrong all the same, for a reason that the alignment does not show."
        )


@dataclass(frozen=True, slots=True)
class AlignmentSpread(Finding):
    """Right letters with and without attention over several seeds.

    Args:
        length: letters of the rows.
        plain, attending: share of right letters for each seed, without and with attention.
    """

    length: int
    plain: tuple[float, ...]
    attending: tuple[float, ...]

    @property
    def more(self) -> int:
        """Seeds with which attention has more letters right."""
        return sum(own > other for own, other in zip(self.attending, self.plain, strict=True))

    @property
    def sentence(self) -> str:
        without, attending = (
            f"{sum(shares) / len(shares):.0%} ({span(shares, '.0%')})" for shares in (self.plain, self.attending)
        )
        return (
            f"Over {len(self.plain)} seeds, of {self.length} letters {without} are right from one vector and "
            f"{attending} with attention, which is more with {self.more} of {len(self.plain)} seeds."
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


def place_kept(repeats: AlignmentRepeats) -> PlaceKept:
    """Of the longest rows."""
    cut, letters = TRAINED[1], LENGTHS[-1]
    first = tuple(sum(row[:cut]) / cut for row in repeats.followed)
    rest = tuple(sum(row[cut:]) / (letters - cut) for row in repeats.followed)
    return PlaceKept(cut, letters, first, rest)


def alignment_spread(repeats: AlignmentRepeats) -> AlignmentSpread:
    """At the longest length trained on."""
    at = LENGTHS.index(TRAINED[1])
    plain, attending = (tuple(row[at] for row in rows) for rows in (repeats.plain, repeats.attending))
    return AlignmentSpread(TRAINED[1], plain, attending)
