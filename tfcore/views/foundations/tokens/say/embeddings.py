"""Findings on an embedding table: neighbours, the map of its rows, their lengths, and what a scale saves."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.token_text import visible
from tfcore.presets import PRESETS
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.foundations.tokens.measure.embedding_scale import ScaleEffect
from tfcore.views.foundations.tokens.measure.embedding_table import Neighbours, TableMap


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
    """The first five neighbours of a token."""
    return NearestTokens(near.pieces[0], near.token, near.pieces[1:6], near.cosines[0], len(near.ids))


@dataclass(frozen=True, slots=True)
class MapShare(Finding):
    """How much of a table its map shows.

    Args:
        rows, width: of the table.
        share: of the variance that the two dimensions hold.
        token: the one that is marked.
        near: neighbours that are ringed.
        drawn: rows from which the dimensions come.
    """

    rows: int
    width: int
    share: float
    token: bytes
    near: int
    drawn: int

    @property
    def sentence(self) -> str:
        some = "" if self.drawn == self.rows else f"{self.drawn:,} rows, of the most frequent words and word parts, of "
        return (
            f"PCA of {some}the table, shape ({self.rows:,}, {self.width}), to 2 dimensions: {self.share:.1%} of the "
            f"variance. Ringed: the {self.near} nearest of '{visible(self.token)}' by cosine in all {self.width}."
        )


def map_share(table: TableMap, near: Neighbours) -> MapShare:
    """The share of the variance on the first two principal components."""
    share = float(table.explained[:2].sum())
    return MapShare(table.total, table.width, share, near.pieces[0], len(near.ids), table.drawn)


@dataclass(frozen=True, slots=True)
class RowLengths(Finding):
    """Lengths of the rows of an embedding table.

    Args:
        mean: of all rows.
        shortest, least: the token with the shortest row, and its length.
        longest, most: the token with the longest row, and its length.
        token, length: the one that is marked, and its length.
        rows: that were measured.
        total: rows of the table.
    """

    mean: float
    shortest: bytes
    least: float
    longest: bytes
    most: float
    token: bytes
    length: float
    rows: int
    total: int

    @property
    def sentence(self) -> str:
        some = "each row" if self.rows == self.total else f"{self.rows:,} of {self.total:,} rows"
        return (
            f"Length of {some}: {self.mean:.2f} on average. "
            f"Shortest '{visible(self.shortest)}' ({self.least:.2f}), "
            f"longest '{visible(self.longest)}' ({self.most:.2f}); '{visible(self.token)}' has {self.length:.2f}."
        )


def row_lengths(table: TableMap, pieces: Sequence[bytes], token: int) -> RowLengths:
    """The mean length of the rows, the shortest, the longest and that of one token; `pieces` are the bytes of the
    tokens that the map shows."""
    low, high, own = int(table.norms.argmin()), int(table.norms.argmax()), int((table.ids == token).argmax())
    least, most, length = (float(table.norms[i]) for i in (low, high, own))
    mean = float(table.norms.mean())
    return RowLengths(mean, pieces[low], least, pieces[high], most, pieces[own], length, len(table.norms), table.total)


def published_vocabularies() -> Statement:
    """The smallest and the largest vocabulary of the published models in `tfcore.presets`."""
    sizes = [build().vocab_size for build in PRESETS.values()]
    return state(
        "vocabularies",
        "Published models have vocabularies of {smallest:whole} to {largest:whole} tokens.",
        smallest=min(sizes),
        largest=max(sizes),
    )


# ---- a scale ----


def scaled_lengths(effect: ScaleEffect, at: int) -> Statement:
    """The mean length of the rows, as they are and with one of the scales, beside that of position vectors."""
    scale, mean = float(effect.scales[at]), float(effect.norms.mean())
    return state(
        "lengths",
        "Lengths: E {mean:.2f} on average, {scale:.1f} · E {scaled:.2f}, PE {position:.2f}.",
        mean=mean,
        scale=scale,
        scaled=scale * mean,
        position=effect.position_norm,
    )


def recognised(effect: ScaleEffect, at: int) -> Statement:
    """The share of tokens that are still recognised after a position vector is added, with one of the scales and with
    none."""
    scale, scaled, share = (float(values[at]) for values in (effect.scales, effect.recognised, effect.share))
    return state(
        "recognised",
        "Of every fourth token, the share whose own row is still nearest to s · E + PE({position}): {unscaled:.0%} at "
        "s = 1, {scaled:.0%} at s = {scale:.1f}, where {token_share:.0%} of the squared length is the token.",
        position=effect.position,
        unscaled=float(effect.recognised[effect.scales.tolist().index(1.0)]),
        scaled=scaled,
        scale=scale,
        token_share=share,
    )
