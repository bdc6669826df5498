"""The embedding table of a model: lengths of rows, nearest neighbours, and the effect of added positions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.token_text import visible
from tfcore.model import Transformer
from tfcore.positions import sinusoidal
from tfcore.presets import PRESETS
from tfcore.tokenizers.tokenizer import Tokenizer


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
        token: the id asked about.
        pieces: the bytes of this token, then those of the nearest.
        ids: the nearest, nearest first, without itself.
        cosines: with each of them.
    """

    token: int
    pieces: tuple[bytes, ...]
    ids: tuple[int, ...]
    cosines: tuple[float, ...]


def nearest(model: Transformer, tokenizer: Tokenizer, token: int, count: int) -> Neighbours:
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
    near = ids.tolist()
    pieces = tuple(tokenizer.token_bytes(i) for i in [token, *near])
    return Neighbours(token, pieces, tuple(near), tuple(values.tolist()))


@dataclass(frozen=True, slots=True)
class NearestTokens(Finding):
    """The tokens whose rows are nearest to one token's.

    Args:
        token, row: the token asked about, and its id.
        nearest: up to five, nearest first.
        cosine: with the nearest.
        count: how many are shown.
    """

    token: bytes
    row: int
    nearest: tuple[bytes, ...]
    cosine: float
    count: int

    @property
    def sentence(self) -> str:
        first, *others = (f"'{visible(piece)}'" for piece in self.nearest)
        then = f", then {', '.join(others)}" if others else ""
        return (
            f"The {self.count} rows nearest to '{visible(self.token)}' (id {self.row}): first {first} with cosine "
            f"{self.cosine:.2f}{then}."
        )


def nearest_tokens(near: Neighbours) -> NearestTokens:
    """The first five of the neighbours."""
    return NearestTokens(near.pieces[0], near.token, near.pieces[1:6], near.cosines[0], len(near.ids))


@dataclass(frozen=True, slots=True)
class MapShare(Finding):
    """How much of a table its map shows.

    Args:
        rows, width: of the table.
        share: of the variance that the two dimensions hold.
        token: the one that is marked.
        near: neighbours that are ringed.
    """

    rows: int
    width: int
    share: float
    token: bytes
    near: int

    @property
    def sentence(self) -> str:
        return (
            f"PCA of the table, shape ({self.rows:,}, {self.width}), to 2 dimensions: {self.share:.1%} of the "
            f"variance. Ringed: the {self.near} nearest of '{visible(self.token)}' by cosine in all {self.width}."
        )


def map_share(found: TableMap, near: Neighbours) -> MapShare:
    """The share of the variance on the first two principal components."""
    share = float(found.explained[:2].sum())
    return MapShare(len(found.norms), len(found.explained), share, near.pieces[0], len(near.ids))


@dataclass(frozen=True, slots=True)
class RowLengths(Finding):
    """Lengths of the rows of an embedding table.

    Args:
        mean: of all rows.
        shortest, least: the token with the shortest row, and its length.
        longest, most: the token with the longest row, and its length.
        token, length: the one that is marked, and its length.
    """

    mean: float
    shortest: bytes
    least: float
    longest: bytes
    most: float
    token: bytes
    length: float

    @property
    def sentence(self) -> str:
        return (
            f"Length of each row: {self.mean:.2f} on average. Shortest '{visible(self.shortest)}' ({self.least:.2f}), "
            f"longest '{visible(self.longest)}' ({self.most:.2f}); '{visible(self.token)}' has {self.length:.2f}."
        )


def row_lengths(found: TableMap, pieces: Sequence[bytes], token: int) -> RowLengths:
    """The mean, both ends and one token's length; `pieces` are the bytes of all tokens."""
    low, high = int(found.norms.argmin()), int(found.norms.argmax())
    least, most, length = (float(found.norms[i]) for i in (low, high, token))
    return RowLengths(float(found.norms.mean()), pieces[low], least, pieces[high], most, pieces[token], length)


def cosine_with(table: Float[Tensor, "vocab d_model"], vector: Float[Tensor, " d_model"]) -> Float[Tensor, " vocab"]:
    """a . b / (|a| |b|) of every row with one vector."""
    return table @ vector / (table.norm(dim=-1) * vector.norm()).clamp(min=1e-12)


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
    vector = sinusoidal(torch.tensor([position]), table.shape[1])[0]  # (d_model,)
    asked = torch.arange(0, len(table), every)
    found = [float((nearest_rows(table, s * table[asked] + vector) == asked).float().mean()) for s in scales]
    squares, position_square = (table**2).sum(-1), float((vector**2).sum())
    share = [float((s**2 * squares / (s**2 * squares + position_square)).mean()) for s in scales]
    factors, recognised, shares = (torch.tensor(values).numpy() for values in (list(scales), found, share))
    norms = table.norm(dim=-1).numpy()
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
    return (sums @ torch.nn.functional.normalize(table, dim=-1).T).argmax(dim=-1)


@dataclass(frozen=True, slots=True)
class VocabularySizes(Finding):
    """The range of vocabularies of published models.

    Args:
        smallest, largest: tokens.
    """

    smallest: int
    largest: int

    @property
    def sentence(self) -> str:
        return f"Published models have vocabularies of {self.span} tokens."

    @property
    def span(self) -> str:
        """Both numbers as they are written."""
        return f"{self.smallest:,} to {self.largest:,}"


def published_vocabularies() -> VocabularySizes:
    """The smallest and the largest vocabulary of the published models in `tfcore.presets`."""
    sizes = [build().vocab_size for build in PRESETS.values()]
    return VocabularySizes(min(sizes), max(sizes))
