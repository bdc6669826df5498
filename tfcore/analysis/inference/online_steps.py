"""One query followed through the online softmax, with every number as a plain number."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inference.online_softmax import State, of_tile, rescale


@dataclass(frozen=True, slots=True)
class RowStep:
    """What some keys did to one query: every number of the online softmax.

    Args:
        at: when: which tile, or which step around the ring, counted from 0.
        keys: positions of these keys.
        scores: of the query for each of these keys; -inf where it may not look.
        weights: exp(score - tile_m), before the division by l.
        tile_m, tile_l: their largest score, and the sum of their weights.
        old_m, m: the running maximum before and after.
        rescale, scale_tile: e^(old m - m) for what was there, e^(tile_m - m) for what comes.
        old_l, l: the normaliser before and after.
        out: the sum of weighted values after it, not yet divided by l.
    """

    at: int
    keys: Int[ndarray, " key"]
    scores: Float[ndarray, " key"]
    weights: Float[ndarray, " key"]
    tile_m: float
    tile_l: float
    old_m: float
    m: float
    rescale: float
    scale_tile: float
    old_l: float
    l: float  # noqa: E741
    out: Float[ndarray, " d_head"]


def row_step(
    at: int,
    keys: Int[Tensor, " key"],
    scores: Float[Tensor, "1 key"],
    v: Float[Tensor, "key d_head"],
    before: State,
    now: State,
) -> RowStep:
    """The numbers between the states before and after these keys.

    Args:
        scores: of the query for these keys, -inf where it may not look.
        v: values of these keys.
        before, now: states of this one query.
    """
    alone = of_tile(scores, v)
    weights = scores.exp() if float(alone.m) == -torch.inf else (scores - alone.m).exp()
    return RowStep(
        at=at,
        keys=keys.numpy(),
        scores=scores[0].numpy(),
        weights=weights[0].numpy(),
        tile_m=float(alone.m),
        tile_l=float(alone.l),
        old_m=float(before.m),
        m=float(now.m),
        rescale=float(rescale(before.m, now.m)),
        scale_tile=float(rescale(alone.m, now.m)),
        old_l=float(before.l),
        l=float(now.l),
        out=now.out[0].numpy(),
    )


def only(state: State, row: int) -> State:
    """The state of one of the queries."""
    one = slice(row, row + 1)
    return State(state.m[one], state.l[one], state.out[one])
