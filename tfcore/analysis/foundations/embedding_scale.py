"""The scale of embeddings: what is left of a token once a position vector is added to its row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.embedding_table import rows
from tfcore.model import Transformer
from tfcore.positions import sinusoidal

EVERY = 4  # every fourth row is looked up: as good an estimate in a quarter of the time


@dataclass(frozen=True, slots=True)
class ScaleEffect:
    """What remains of the tokens once a position vector is added to their scaled embeddings.

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
    found = [float((nearest_rows(table, s * table[asked] + vector) == asked).float().mean()) for s in scales]
    squares, position_square = (table**2).sum(1), float((vector**2).sum())
    share = [float((s**2 * squares / (s**2 * squares + position_square)).mean()) for s in scales]
    factors, recognised, shares = (torch.tensor(values).numpy() for values in (list(scales), found, share))
    norms = table.norm(dim=1).numpy()
    return ScaleEffect(table.shape[1], position, norms, math.sqrt(position_square), factors, recognised, shares)


@dataclass(frozen=True, slots=True)
class ScaledLengths(Finding):
    """Lengths of scaled embeddings beside those of position vectors.

    Args:
        scale: the factor.
        mean: length of the rows, unscaled.
        position: length of every position vector.
    """

    scale: float
    mean: float
    position: float

    @property
    def sentence(self) -> str:
        return (
            f"Lengths: E {self.mean_text} on average, {self.scale:.1f} · E {self.scaled_text}, PE {self.position_text}."
        )

    @property
    def mean_text(self) -> str:
        """The mean length of the rows as it is written."""
        return f"{self.mean:.2f}"

    @property
    def scaled_text(self) -> str:
        """The mean length of the scaled rows as it is written."""
        return f"{self.scale * self.mean:.2f}"

    @property
    def position_text(self) -> str:
        """The length of a position vector as it is written."""
        return f"{self.position:.2f}"


def scaled_lengths(found: ScaleEffect, at: int) -> ScaledLengths:
    """The lengths with one of the scales."""
    return ScaledLengths(float(found.scales[at]), float(found.norms.mean()), found.position_norm)


@dataclass(frozen=True, slots=True)
class Recognised(Finding):
    """The share of tokens that are still recognised after a position vector is added.

    Args:
        position: whose vector.
        unscaled: the share at scale 1.
        scale, scaled: the scale that is looked at, and the share there.
        token_share: how much of the squared length is the token there.
    """

    position: int
    unscaled: float
    scale: float
    scaled: float
    token_share: float

    @property
    def sentence(self) -> str:
        return (
            f"Of every fourth token, the share whose own row is still nearest to s · E + "
            f"PE({self.position}): {self.unscaled:.0%} at s = 1, {self.scaled_text} at s = {self.scale:.1f}, where "
            f"{self.token_share:.0%} of the squared length is the token."
        )

    @property
    def scaled_text(self) -> str:
        """The share at the scale that is looked at, as it is written."""
        return f"{self.scaled:.0%}"


def recognised(found: ScaleEffect, at: int) -> Recognised:
    """The shares with one of the scales, and with none."""
    one = float(found.recognised[found.scales.tolist().index(1.0)])
    scale, scaled, share = (float(values[at]) for values in (found.scales, found.recognised, found.share))
    return Recognised(found.position, one, scale, scaled, share)


def nearest_rows(table: Float[Tensor, "vocab d_model"], sums: Float[Tensor, "n d_model"]) -> Int[Tensor, " n"]:
    """For each vector, the row of the table with the largest cosine."""
    return (sums @ torch.nn.functional.normalize(table, dim=1).T).argmax(dim=1)
