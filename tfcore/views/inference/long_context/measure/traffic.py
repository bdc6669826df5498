"""How many numbers attention moves between the GPU's large slow memory (HBM) and its small fast one (SRAM)."""

from dataclasses import dataclass
from math import inf

import numpy as np

from tfcore.views.inference.long_context.measure.flash import Order, Tiling

LEADING: dict[Order, float] = {"keys": 12.0, "queries": 8.0}  # times n^2 d^2 / M: see `theorem`


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """Numbers read from HBM and written to it, by what they are."""

    reads: dict[str, int]
    writes: dict[str, int]

    @property
    def total(self) -> int:
        """Numbers read and written, together."""
        return sum(self.reads.values()) + sum(self.writes.values())


def naive_traffic(n: int, d_head: int) -> MemoryTraffic:
    """Attention of one head in three steps, each of which reads and writes whole matrices: 4 n^2 + 4 n d numbers.

        S = Q K^T,   P = softmax(S),   O = P V

    Under a causal mask it is the same: the matrices are whole all the same.

    Source: arXiv:2205.14135, algorithm 0.
    """
    square, side = n * n, n * d_head
    return MemoryTraffic(
        {"Q": side, "K, V": 2 * side, "scores": square, "weights": square},
        {"output": side, "scores": square, "weights": square},
    )


def tiled_traffic(tiling: Tiling) -> MemoryTraffic:
    """The same head in tiles, every load and store of the loops added up; tiles above the diagonal load nothing.

    Keys outside (FlashAttention, arXiv:2205.14135, algorithm 1): K and V are read once; for each of their tiles all
    queries come by, with the output so far, m and l, which are then written back. Queries outside (FlashAttention-2,
    arXiv:2307.08691, algorithm 1): output, m and l stay in SRAM until they are done, and K and V come by; written is
    the output, and one number a query for the backward pass (m + log l).
    """
    n, d = tiling.n, tiling.d_head
    if tiling.order == "keys":
        first = np.arange(0, n, tiling.columns)
        came = n - (first // tiling.rows) * tiling.rows if tiling.causal else np.full(len(first), n)
        passed = int(came.sum())  # queries that came by, over all tiles of keys
        return MemoryTraffic(
            {"Q": passed * d, "K, V": 2 * n * d, "output": passed * d, "m and l": 2 * passed},
            {"output": (n + passed) * d, "m and l": 2 * (n + passed)},
        )
    end = np.minimum(np.arange(tiling.rows, n + tiling.rows, tiling.rows), n)
    came = np.minimum(-(-end // tiling.columns) * tiling.columns, n) if tiling.causal else np.full(len(end), n)
    return MemoryTraffic({"Q": n * d, "K, V": 2 * int(came.sum()) * d}, {"output": n * d, "m and l": n})


def loaded(tiling: Tiling, tiles: int) -> int:
    """Numbers moved by the first so many tiles, one after the other: the count that a page shows at each tile."""
    n, d, total, before = tiling.n, tiling.d_head, 0, (-1, -1)
    every = tiling.tiles()
    side = 0 if tiling.order == "queries" else 1
    if tiling.order == "keys":
        total += n * d + 2 * n  # output, m and l are set to nothing in HBM first
    for i, tile in enumerate(every[:tiles]):
        rows, keys = tile[0][1] - tile[0][0], tile[1][1] - tile[1][0]
        changed = tile[side] != before
        before = tile[side]
        if tiling.order == "keys":
            total += 2 * keys * d * changed + rows * (d + 2 * (d + 2))
        else:
            last = i + 1 == len(every) or every[i + 1][0] != tile[0]
            total += rows * d * changed + 2 * keys * d + rows * (d + 1) * last
    return total


def theorem(n: int, d_head: int, sram: int, order: Order, causal: bool) -> float:
    """The leading term of the count, c n^2 d^2 / M, with M the numbers that fit into SRAM.

    Theorem 2 of arXiv:2205.14135 says Theta(n^2 d^2 / M), for d <= M <= n d. With tiles of M / 4d tokens the constant
    is 12 for the first order (4 n d / M times the n d numbers of Q, of O read and of O written) and 8 for the second
    (as many times those of K and V); half of it under a causal mask.

    Returns:
        numbers; inf outside of the theorem's range.
    """
    if not d_head <= sram <= n * d_head:
        return inf
    return LEADING[order] * n**2 * d_head**2 / sram * (0.5 if causal else 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficComparison:
    """The traffic of one head, both ways.

    Args:
        n, d_head: tokens, and numbers in each vector.
        sram: numbers that fit into SRAM.
        bytes_each: of a number.
        naive, tiled: counted.
        formula: the theorem's term, in numbers; inf outside of its range.
    """

    n: int
    d_head: int
    sram: int
    bytes_each: int
    naive: MemoryTraffic
    tiled: MemoryTraffic
    formula: float


def compare_traffic(n: int, d_head: int, sram: int, order: Order, causal: bool, bytes_each: int) -> TrafficComparison:
    """Count the traffic of one head in standard attention and in tiles, with the theorem's term beside it."""
    tiling = Tiling(n=n, d_head=d_head, sram=sram, causal=causal, order=order)
    return TrafficComparison(
        n=n,
        d_head=d_head,
        sram=sram,
        bytes_each=bytes_each,
        naive=naive_traffic(n, d_head),
        tiled=tiled_traffic(tiling),
        formula=theorem(n, d_head, sram, order, causal),
    )
