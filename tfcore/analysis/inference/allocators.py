"""Two ways to give memory out: one piece that must lie together, and blocks that may lie anywhere."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple


class Piece(NamedTuple):
    """Slots start, start + 1, ..., start + size - 1."""

    start: int
    size: int


class Contiguous:
    """One piece for each request, in the first hole that is large enough; neighbouring holes become one."""

    def __init__(self, slots: int) -> None:
        self.holes = [Piece(0, slots)]  # by their start

    def take(self, slots: int) -> list[Piece] | None:
        """The front of the first hole that has so many slots; None where no hole is large enough."""
        for i, hole in enumerate(self.holes):
            if hole.size >= slots:
                rest = Piece(hole.start + slots, hole.size - slots)
                self.holes[i : i + 1] = [rest] if rest.size else []
                return [Piece(hole.start, slots)]
        return None

    def give_back(self, pieces: Iterable[Piece]) -> None:
        """Holes again, joined with those they touch."""
        joined: list[Piece] = []
        for piece in sorted([*self.holes, *pieces]):
            if joined and joined[-1].start + joined[-1].size == piece.start:
                joined[-1] = Piece(joined[-1].start, joined[-1].size + piece.size)
            else:
                joined.append(piece)
        self.holes = joined


class Paged:
    """Blocks of one size, anywhere (arXiv:2309.06180, section 4.2); a table for each request says where they are."""

    def __init__(self, slots: int, block: int) -> None:
        self.block = block
        self.free = list(range(0, slots - block + 1, block))  # a heap: the lowest block goes first

    def take(self, slots: int) -> list[Piece] | None:
        """As many blocks as hold so many slots; None, and nothing is taken, where there are too few."""
        count = -(-slots // self.block)
        if count > len(self.free):
            return None
        return [Piece(heapq.heappop(self.free), self.block) for _ in range(count)]

    def give_back(self, pieces: Iterable[Piece]) -> None:
        """Each block is free for anyone."""
        for piece in pieces:
            heapq.heappush(self.free, piece.start)


Allocator = Contiguous | Paged
