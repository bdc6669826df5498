"""The embedding table of a model: lengths of rows, nearest neighbours, and the effect of added positions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.checks import check_place
from tfcore.measures.statistics import principal_components
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class TableMap:
    """Rows of an embedding table, measured and flattened to two dimensions.

    Args:
        ids: of these rows.
        norms: length of each row.
        points: each row on the first two principal components.
        explained: the share of the variance along every component, falling.
        total: rows of the table.
        drawn: rows from which the components come; those after them were asked for besides.
        width: of the table.
    """

    ids: Int[ndarray, " row"]
    norms: Float[ndarray, " row"]
    points: Float[ndarray, "row 2"]
    explained: Float[ndarray, " component"]
    total: int
    drawn: int
    width: int


MOST_ROWS = 4_096  # of a table, up to which all are drawn
DRAWN = 2_048  # of a larger one


def table_map(model: Transformer, ids: Sequence[int], more: Sequence[int] = (), *, components: bool = True) -> TableMap:
    """Row norms and principal components of rows of the embedding table.

    Args:
        ids: the rows that are drawn; the components are theirs.
        more: rows that are drawn besides, on the same components.
        components: or norms alone, with all points at 0.
    """
    table = rows(model)
    chosen = table[list(ids)]
    points, explained = chosen.new_zeros(len(chosen), 2), chosen.new_zeros(0)
    if components:
        points, explained = principal_components(chosen)
    norms, shown = chosen.norm(dim=1), np.array(ids, dtype=np.int32)
    mapped = TableMap(shown, norms.numpy(), points.numpy(), explained.numpy(), len(table), len(chosen), table.shape[1])
    return with_rows(model, mapped, more)


def with_rows(model: Transformer, mapped: TableMap, more: Sequence[int]) -> TableMap:
    """A map with further rows, on the components that it has."""
    there = set(mapped.ids.tolist())
    if not (new := [i for i in more if i not in there]):
        return mapped
    table, points = rows(model), torch.tensor(mapped.points[: mapped.drawn])
    chosen, added = table[mapped.ids[: mapped.drawn].tolist()], table[new]
    axes = (chosen - chosen.mean(0)).T @ points / (points**2).sum(0).clamp(min=1e-12)  # (d_model, 2), of length 1
    return replace(
        mapped,
        ids=np.concatenate((mapped.ids, np.array(new, dtype=np.int32))),
        norms=np.concatenate((mapped.norms, added.norm(dim=1).numpy())),
        points=np.concatenate((mapped.points, ((added - chosen.mean(0)) @ axes).numpy())),
    )


def evenly(model: Transformer, tokenizer: Tokenizer) -> list[int]:
    """All rows of a small table; of a large one every second, third ..., so that about as many are left."""
    size = min(model.config.vocab_size, tokenizer.vocab_size)
    return list(range(0, size, 1 if size <= MOST_ROWS else math.ceil(size / DRAWN)))


def most_used(model: Transformer, tokenizer: Tokenizer) -> list[int]:
    """The rows that a map shows: all of a small table; of a large one the lowest ids of tokens of two letters or more.
    These are the most frequent: merges are learned, and lists of words written, in the order of frequency."""
    size = min(model.config.vocab_size, tokenizer.vocab_size)
    if size <= MOST_ROWS:
        return list(range(size))
    words = (i for i in range(size) if len(piece := _text(tokenizer.token_bytes(i)).strip()) > 1 and piece.isalpha())
    return list(islice(words, DRAWN))


def rows(model: Transformer) -> Float[Tensor, "vocab d_model"]:
    """The embedding table, one row a token."""
    return model.embed.weight.detach().float().cpu()


KINDS = ("starts a word", "goes on or starts a line", "signs and digits", "part of a character")


def kinds(pieces: Sequence[bytes]) -> list[int]:
    """Kinds of tokens, as places in KINDS: letters after a space, letters without, no letters, no whole text."""
    return [_kind(piece) for piece in pieces]


def with_spaces(tokenizer: Tokenizer, ids: Sequence[int]) -> list[bytes]:
    """Tokens as bytes, for `kinds`; WordPiece, which marks what goes on ("##ing") and no spaces, gets spaces."""
    if not getattr(tokenizer, "word_piece", False):
        return [tokenizer.token_bytes(i) for i in ids]
    names = tokenizer.tokens(ids)
    return [(name[2:] if name.startswith("##") else f" {name}").encode() for name in names]


def _text(piece: bytes) -> str:
    """The text of a token; empty where it is no whole text."""
    return piece.decode("utf-8", "ignore") if _kind(piece) != NO_TEXT else ""


NO_TEXT = 3


def _kind(piece: bytes) -> int:
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return NO_TEXT
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
    """The `count` nearest rows by cosine, or all others where there are fewer.

    Raises:
        ValueError: a token that the table does not have.
    """
    table = rows(model)
    check_place(token=(token, len(table)))
    cosines = cosine_with(table, table[token])
    cosines[token] = -math.inf
    values, ids = cosines.topk(min(count, len(table) - 1))
    near = ids.tolist()
    pieces = tuple(tokenizer.token_bytes(i) for i in [token, *near])
    return Neighbours(token, pieces, tuple(near), tuple(values.tolist()))


def cosine_with(table: Float[Tensor, "vocab d_model"], vector: Float[Tensor, " d_model"]) -> Float[Tensor, " vocab"]:
    """a . b / (|a| |b|) of every row with one vector."""
    return table @ vector / (table.norm(dim=1) * vector.norm()).clamp(min=1e-12)
