"""The scale of embeddings: what is left of a token once a position vector is added to its row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.model import Transformer
from tfcore.positions import sinusoidal
from tfcore.views.foundations.tokens.measure.embedding_table import rows

EVERY = 4  # every fourth row is looked up: as good an estimate in a quarter of the time


@dataclass(frozen=True, slots=True)
class ScaleEffect:
    """The share of the tokens that remains once a position vector is added to their scaled embeddings.

    Args:
        d_model: width of the table.
        position: whose vector is added.
        norms: length of each row of the table, unscaled.
        position_norm: length of every sinusoidal position vector, sqrt(d / 2).
        scales: factors tried, with the square root of d and 1 among them.
        recognised: by factor, the share of the tokens asked about whose row is still nearest (by cosine) to the sum.
        share: by factor, |s E|^2 / (|s E|^2 + |PE|^2), averaged over the tokens: how much of the sum is the token.
    """

    d_model: int
    position: int
    norms: Float[ndarray, " vocab"]
    position_norm: float
    scales: Float[ndarray, " scale"]
    recognised: Float[ndarray, " scale"]
    share: Float[ndarray, " scale"]


def scale_effect(model: Transformer, position: int, scales: Sequence[float], every: int = EVERY) -> ScaleEffect:
    """Add PE(position) to the rows times each factor, and look every sum up in the table again.

    Args:
        position: any, from 0 on.
        scales: factors.
        every: every how many rows one is looked up; the lengths are of all.

    Source of the scale: arXiv:1706.03762, section 3.4 ("we multiply those weights by sqrt(d_model)").
    """
    table = rows(model)
    (vector,) = sinusoidal(torch.tensor([position]), table.shape[1])  # (d_model,)
    asked = torch.arange(0, len(table), every)
    right = [float((nearest_rows(table, s * table[asked] + vector) == asked).float().mean()) for s in scales]
    squares, position_square = (table**2).sum(1), float((vector**2).sum())
    share = [float((s**2 * squares / (s**2 * squares + position_square)).mean()) for s in scales]
    factors, recognised, shares = (torch.tensor(values).numpy() for values in (list(scales), right, share))
    norms = table.norm(dim=1).numpy()
    return ScaleEffect(table.shape[1], position, norms, math.sqrt(position_square), factors, recognised, shares)


def nearest_rows(table: Float[Tensor, "vocab d_model"], sums: Float[Tensor, "n d_model"]) -> Int[Tensor, " n"]:
    """For each vector, the row of the table with the largest cosine."""
    return (sums @ torch.nn.functional.normalize(table, dim=1).T).argmax(dim=1)
