"""The tokens that each expert is given more often than chance would."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Integer
from numpy import ndarray

Order = Literal["share", "work"]


@dataclass(frozen=True, slots=True)
class Preferred:
    """The tokens of an expert, in the order of how typical of it they are.

    Args:
        ids: of the tokens.
        sent: how often each went to the expert.
        seen: how often it was there at all.
        work: which part of all that the expert takes it makes up.
    """

    ids: Int[ndarray, " token"]
    sent: Int[ndarray, " token"]
    seen: Int[ndarray, " token"]
    work: Float[ndarray, " token"]

    @property
    def share(self) -> Float[ndarray, " token"]:
        """Which part of a token's occurrences goes to the expert."""
        return self.sent / self.seen


def preferred(
    ids: Integer[ndarray, " token"],
    sent: Integer[ndarray, " token"],
    seen: Integer[ndarray, " token"],
    load: int,
    by: Order,
    most: int,
) -> Preferred:
    """The tokens that go to an expert, the most typical first.

    Args:
        sent, seen: how often each token went to the expert, and was there.
        load: all tokens that the expert took.
        by: "share" puts first those that go to it (nearly) always, of these the frequent ones; "work" those that make
            up most of what it does.
        most: how many.
    """
    key = (-sent, -sent / seen) if by == "share" else (-seen, -sent)
    order = np.lexsort(key)[:most]
    order = order[sent[order] > 0]
    ids, sent, seen = (np.asarray(part)[order].astype(np.int64) for part in (ids, sent, seen))
    return Preferred(ids, sent, seen, sent / load)


def count_text(
    ids: Sequence[int], taken: Bool[ndarray, "seq expert"]
) -> tuple[Int[ndarray, " token"], Int[ndarray, " token"], Int[ndarray, "token expert"]]:
    """Counts of one text: its different tokens, how often each is there, and who took it how often."""
    different, which, seen = np.unique(np.asarray(ids), return_inverse=True, return_counts=True)
    sent = np.zeros((len(different), taken.shape[1]), np.int64)
    np.add.at(sent, which, taken)
    return different, seen, sent


class ExpertTokens(NamedTuple):
    """The tokens of an expert, with their counts.

    Args:
        counts: the most typical first.
        tokens: the same as pieces of text.
    """

    counts: Preferred
    tokens: list[str]
