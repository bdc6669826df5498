"""Flash attention on one head, tile by tile: the tiling, the computation, and one query followed through the tiles."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.checks import check_place
from tfcore.measures.head_vectors import HeadVectors
from tfcore.views.inference.long_context.measure.online_softmax import (
    RowStep,
    SoftmaxState,
    before_keys,
    merge,
    of_tile,
    only,
    result,
    row_step,
)

Order = Literal["queries", "keys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How a score matrix is cut into tiles that fit into fast memory.

    Args:
        n: tokens.
        d_head: numbers in a query, key or value.
        sram: numbers that fit into fast memory, the M of the paper.
        causal: no token sees a later one, so tiles wholly above the diagonal are skipped.
        order: the outer loop: "keys" as in FlashAttention, "queries" as in FlashAttention-2 (arXiv:2307.08691).

    Raises:
        ValueError: no token, or fast memory for less than one token of Q, K, V and O.
    """

    n: int
    d_head: int
    sram: int
    causal: bool = True
    order: Order = "queries"

    def __post_init__(self) -> None:
        if self.n < 1 or self.d_head < 1:
            raise ValueError(f"n={self.n} and d_head={self.d_head} must be at least 1")
        if self.sram < 4 * self.d_head:
            raise ValueError(f"sram={self.sram} must be at least 4 d_head = {4 * self.d_head}: a row of Q, K, V and O")

    @property
    def columns(self) -> int:
        """Keys in a tile, B_c."""
        return self._sizes()[self.order == "queries"]

    @property
    def rows(self) -> int:
        """Queries in a tile, B_r."""
        return self._sizes()[self.order == "keys"]

    def _sizes(self) -> tuple[int, int]:
        """Tokens in the side of the outer loop, ceil(M / 4d), and of the inner one, at most d: so a tile of scores
        takes no more than M / 4 (arXiv:2205.14135, algorithm 1, line 1, where the outer loop is over the keys; for
        the other order the sides are swapped here, FlashAttention-2 tunes them by hand)."""
        outer = min(-(-self.sram // (4 * self.d_head)), self.n)
        return outer, min(outer, self.d_head)

    def spans(self, size: int) -> list[tuple[int, int]]:
        """The tokens cut into pieces of this size, the last one perhaps shorter: (first, end)."""
        return [(start, min(start + size, self.n)) for start in range(0, self.n, size)]

    def tiles(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The tiles to compute, in order: ((first query, end), (first key, end))."""
        rows, columns = self.spans(self.rows), self.spans(self.columns)
        if self.order == "queries":
            every = [(row, column) for row in rows for column in columns]
        else:
            every = [(row, column) for column in columns for row in rows]
        return [(row, column) for row, column in every if not self.causal or column[0] < row[1]]

    @property
    def all_tiles(self) -> int:
        """Tiles of the whole matrix, those skipped included."""
        return -(-self.n // self.rows) * -(-self.n // self.columns)


@torch.no_grad()
def tiled_attention(vectors: HeadVectors, tiling: Tiling) -> tuple[Float[Tensor, "seq d_head"], list[SoftmaxState]]:
    """Attention of one head without ever making the whole score matrix.

    Args:
        vectors: queries, keys and values.
        tiling: the tiles and their order.

    Returns:
        the output, and after each tile the state of that tile's queries.

    Source: arXiv:2205.14135, algorithm 1; the order "queries" is algorithm 1 of arXiv:2307.08691.
    """
    states = {rows: before_keys(vectors, rows[1] - rows[0]) for rows in tiling.spans(tiling.rows)}
    trace = []
    for rows, keys in tiling.tiles():
        scores = vectors.scores(torch.arange(*rows), torch.arange(*keys), tiling.causal)  # of this tile, no more
        states[rows] = merge(states[rows], of_tile(scores, vectors.v[slice(*keys)]))
        trace.append(states[rows])
    return torch.cat([result(state) for state in states.values()]), trace


@dataclass(frozen=True, slots=True)
class FlashRun:
    """Flash attention of one head, and how it compares.

    Args:
        tiling: how the score matrix is cut.
        tiles: in order: first query, end, first key, end.
        pattern: softmax of the whole row, as in standard attention; what each tile contributes to.
        row: the query that is followed.
        steps: what each tile of its row did.
        output: of that query at the end, and `naive` that of standard attention.
        difference: the largest between the two ways in float32, over all queries and all d_head numbers.
        exact: the same in float64: what is left of it when rounding is out of the way.
    """

    tiling: Tiling
    tiles: Int[ndarray, "tile 4"]
    pattern: Float[ndarray, "seq seq"]
    row: int
    steps: list[RowStep]
    output: Float[ndarray, " d_head"]
    naive: Float[ndarray, " d_head"]
    difference: float
    exact: float

    @property
    def skipped(self) -> int:
        """Tiles that lie wholly above the diagonal."""
        return self.tiling.all_tiles - len(self.tiles)

    def done(self, tile: int) -> list[RowStep]:
        """The steps of the followed query up to this tile."""
        return [step for step in self.steps if step.at <= tile]

    def latest(self, tile: int) -> RowStep:
        """The last step of the followed query up to this tile; its first where there is none yet."""
        return (self.done(tile) or self.steps[:1])[-1]


@torch.no_grad()
def follow(vectors: HeadVectors, tiling: Tiling, row: int) -> FlashRun:
    """Run both ways on one head, and follow one query through the tiles.

    Raises:
        ValueError: a row outside the text.
    """
    check_place(row=(row, tiling.n))
    output, trace = tiled_attention(vectors, tiling)
    pattern, naive = vectors.naive(tiling.causal)
    double = vectors.double()
    exact = (tiled_attention(double, tiling)[0] - double.naive(tiling.causal)[1]).abs().max()
    before, steps, tiles = before_keys(vectors, 1), [], tiling.tiles()
    for at, ((first, end), (key, last)) in enumerate(tiles):
        if first <= row < end:
            now, keys = only(trace[at], row - first), torch.arange(key, last)
            scores = vectors.scores(torch.tensor([row]), keys, tiling.causal)
            steps.append(row_step(at, keys, scores, vectors.v[key:last], before, now))
            before = now
    return FlashRun(
        tiling,
        np.array([[*rows, *keys] for rows, keys in tiles]),
        pattern.numpy(),
        row,
        steps,
        output[row].numpy(),
        naive[row].numpy(),
        float((output - naive).abs().max()),
        float(exact),
    )


def tile_at(run: FlashRun, query: int | float, key: int | float) -> int | None:
    """The tile that holds a cell of the score matrix, counted from 0; None where it is skipped."""
    top, bottom, left, right = run.tiles.T
    holding = np.flatnonzero((top <= query) & (query < bottom) & (left <= key) & (key < right))
    return next(iter(holding.tolist()), None)
