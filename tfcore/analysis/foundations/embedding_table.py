"""The embedding table of a model: how long its rows are, which are alike, and what a position vector does to them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.model import Transformer
from tfcore.positions import sinusoidal
from tfcore.presets import PRESETS


@dataclass(frozen=True, slots=True)
class TableMap:
    """The rows of an embedding table, measured and flattened to two dimensions.

    Args:
        norms: length of each row.
        points: each row on the first two principal components.
        explained: the share of the variance along every component, falling.
    """

    norms: Float[ndarray, " vocab"]
    points: Float[ndarray, "vocab 2"]
    explained: Float[ndarray, " component"]


def table_map(model: Transformer) -> TableMap:
    """Row norms and principal components of the embedding table."""
    table = rows(model)
    points, explained = principal_components(table)
    return TableMap(table.norm(dim=-1).numpy(), points.numpy(), explained.numpy())


def rows(model: Transformer) -> Float[Tensor, "vocab d_model"]:
    """The embedding table, one row a token."""
    return model.embed.weight.detach().float().cpu()


def principal_components(
    table: Float[Tensor, "row d_model"], kept: int = 2
) -> tuple[Float[Tensor, "row kept"], Float[Tensor, " component"]]:
    """The rows on the directions in which they vary most, and the share of the variance of every direction.

    With the rows' mean taken away, X = U S V^T: the coordinates are U S, the variances S^2 / (n - 1).
    """
    centred = table - table.mean(dim=0)
    u, s, v = torch.linalg.svd(centred, full_matrices=False)
    sign = torch.sign(v.gather(1, v.abs().argmax(dim=1, keepdim=True)))[:, 0]  # SVD leaves the signs open
    return u[:, :kept] * (s * sign)[:kept], s**2 / (s**2).sum()


KINDS = ("starts a word", "goes on or starts a line", "signs and digits", "part of a character")


def kinds(pieces: Sequence[bytes]) -> list[int]:
    """What each token is, as a place in KINDS: letters after a space, letters without, no letters, no whole text."""
    return [_kind(piece) for piece in pieces]


def _kind(piece: bytes) -> int:
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return 3
    if not text.strip().replace("'", "").isalpha():
        return 2
    return 0 if text.startswith(" ") else 1


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The tokens whose rows point most nearly the same way as one token's.

    Args:
        token: the one asked about.
        ids: the nearest, nearest first, without itself.
        cosines: with each of them.
    """

    token: int
    ids: tuple[int, ...]
    cosines: tuple[float, ...]


def nearest(model: Transformer, token: int, count: int) -> Neighbours:
    """The `count` nearest rows by cosine.

    Raises:
        ValueError: a token that the table does not have.
    """
    table = rows(model)
    if not 0 <= token < len(table):
        raise ValueError(f"token={token} must be between 0 and {len(table) - 1}")
    cosines = cosine_with(table, table[token])
    cosines[token] = -math.inf
    values, ids = cosines.topk(count)
    return Neighbours(token, tuple(ids.tolist()), tuple(values.tolist()))


def cosine_with(table: Float[Tensor, "vocab d_model"], vector: Float[Tensor, " d_model"]) -> Float[Tensor, " vocab"]:
    """a . b / (|a| |b|) of every row with one vector."""
    return table @ vector / (table.norm(dim=-1) * vector.norm()).clamp(min=1e-12)


@dataclass(frozen=True, slots=True)
class ScaleEffect:
    """What remains of the tokens once a position vector is added to their scaled embeddings.

    Args:
        norms: length of each row of the table, unscaled.
        position_norm: length of every sinusoidal position vector, sqrt(d / 2).
        scales: factors tried, with the square root of d and 1 among them.
        recognised: by factor, the share of the tokens asked about whose row is still nearest (by cosine) to the sum.
        share: by factor, |s E|^2 / (|s E|^2 + |PE|^2), averaged over the tokens: how much of the sum is the token.
    """

    norms: Float[ndarray, " vocab"]
    position_norm: float
    scales: Float[ndarray, " scale"]
    recognised: Float[ndarray, " scale"]
    share: Float[ndarray, " scale"]


def scale_effect(model: Transformer, position: int, scales: Sequence[float], every: int = 4) -> ScaleEffect:
    """Add PE(position) to the rows times each factor, and look every sum up in the table again.

    Args:
        position: any, from 0 on.
        scales: factors.
        every: every how many rows one is looked up; the lengths are of all.

    Source of the scale: arXiv:1706.03762, section 3.4 ("we multiply those weights by sqrt(d_model)").
    """
    table = rows(model)
    vector = sinusoidal(torch.tensor([position]), table.shape[1])[0]  # (d_model,)
    asked = torch.arange(0, len(table), every)
    found = [float((nearest_rows(table, s * table[asked] + vector) == asked).float().mean()) for s in scales]
    squares, position_square = (table**2).sum(-1), float((vector**2).sum())
    share = [float((s**2 * squares / (s**2 * squares + position_square)).mean()) for s in scales]
    factors, recognised, shares = (torch.tensor(values).numpy() for values in (list(scales), found, share))
    return ScaleEffect(table.norm(dim=-1).numpy(), math.sqrt(position_square), factors, recognised, shares)


def nearest_rows(table: Float[Tensor, "vocab d_model"], sums: Float[Tensor, "n d_model"]) -> Int[Tensor, " n"]:
    """For each vector, the row of the table with the largest cosine."""
    return (sums @ torch.nn.functional.normalize(table, dim=-1).T).argmax(dim=-1)


def published_vocabularies() -> tuple[int, int]:
    """The smallest and the largest vocabulary of the published models in `tfcore.presets`."""
    sizes = [build().vocab_size for build in PRESETS.values()]
    return min(sizes), max(sizes)
