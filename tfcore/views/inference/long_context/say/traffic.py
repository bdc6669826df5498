"""Findings about what is moved between slow and fast memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf

from tfcore.measures.quantities import prefixed
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.long_context.measure.flash import FlashRun
from tfcore.views.inference.long_context.measure.traffic import TrafficComparison, loaded, naive_traffic


@dataclass(frozen=True, slots=True)
class Moved(Finding):
    """Bytes moved for one head.

    Args:
        n, d_head: tokens, and numbers in each vector.
        plain, tiled: bytes counted.
        formula: bytes by the theorem; inf outside of its range.
        squares: numbers that standard attention moves, in n squared.
    """

    n: int
    d_head: int
    plain: int
    tiled: int
    formula: float
    squares: float

    @property
    def ratio(self) -> str:
        if self.tiled <= self.plain:
            return f"{self.plain / self.tiled:.2f} × less"
        return f"{self.tiled / self.plain:.2f} × more"

    @property
    def plain_words(self) -> tuple[str, str]:
        """Bytes, and numbers in n squared."""
        return prefixed(self.plain), f"{self.squares:.2f} n² numbers"

    @property
    def tiled_words(self) -> tuple[str, str]:
        """Bytes, beside those of standard attention."""
        return prefixed(self.tiled), self.ratio

    @property
    def formula_words(self) -> tuple[str, str]:
        """Bytes, and how near the count is."""
        if isinf(self.formula):
            return "–", "holds for d ≤ M ≤ nd only"
        return prefixed(self.formula), f"counted ÷ formula: {self.tiled / self.formula:.3f}"

    @property
    def sentence(self) -> str:
        return (
            f"One head, n = {self.n:,}, d = {self.d_head}, half precision: standard attention moves "
            f"{prefixed(self.plain)}, mostly scores and weights, twice each; tiles {prefixed(self.tiled)} "
            f"({self.ratio}) and no score at all."
        )


def moved(compared: TrafficComparison) -> Moved:
    """The totals in bytes."""
    plain, tiled = (compared.bytes_each * way.total for way in (compared.naive, compared.tiled))
    squares = compared.naive.total / compared.n**2
    return Moved(compared.n, compared.d_head, plain, tiled, compared.bytes_each * compared.formula, squares)


def against_sram(sizes: Sequence[int], every: Sequence[TrafficComparison]) -> Statement:
    """Bytes moved at the smallest and the largest SRAM; `sizes` in kB, from small to large."""
    first, last = moved(every[0]), moved(every[-1])
    return state(
        "against SRAM",
        "Bytes moved against SRAM: {at_smallest} at {smallest} kB, {at_largest} at {largest} kB, about as 1 ÷ M; "
        "standard attention {plain} at any size.",
        at_smallest=prefixed(first.tiled),
        smallest=sizes[0],
        at_largest=prefixed(last.tiled),
        largest=sizes[-1],
        plain=prefixed(last.plain),
    )


@dataclass(frozen=True, slots=True)
class MovedSoFar(Finding):
    """Numbers moved by the first tiles of a run.

    Args:
        rows, columns: of a tile.
        n: tokens.
        moved: numbers, by the tiles so far.
        in_all: by all tiles.
        plain: by standard attention.
    """

    rows: int
    columns: int
    n: int
    moved: int
    in_all: int
    plain: int

    @property
    def tile_words(self) -> tuple[str, str]:
        """Shape, and the scores in it."""
        return f"{self.rows} × {self.columns}", f"{self.rows * self.columns} scores at a time, of {self.n**2:,}"

    @property
    def moved_words(self) -> tuple[str, str]:
        """Numbers so far, and those of standard attention."""
        return f"{self.moved:,}", f"standard attention, in all: {self.plain:,}"

    @property
    def sentence(self) -> str:
        times = self.in_all / self.plain
        return f"{self.n} tokens are few: all tiles move {times:.1f} times what standard attention moves."


def moved_so_far(run: FlashRun, tile: int) -> MovedSoFar:
    """Count up to a tile, from 0, that one included."""
    tiling = run.tiling
    counts = loaded(tiling, tile + 1), loaded(tiling, len(run.tiles)), naive_traffic(tiling.n, tiling.d_head).total
    return MovedSoFar(tiling.rows, tiling.columns, tiling.n, *counts)
