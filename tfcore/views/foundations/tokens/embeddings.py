"""The embedding table: one token's neighbours, a map of the rows, their lengths, and what a scale saves."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tfcore.measures.statistics import principal_components
from tfcore.measures.token_text import label
from tfcore.model import Transformer
from tfcore.positions import sinusoidal
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.foundations.tokens.draw.embeddings import (
    lengths_figure,
    map_figure,
    neighbours_figure,
    norms_figure,
    recognised_figure,
)
from tfcore.views.foundations.tokens.measure import embedding_table as tables
from tfcore.views.foundations.tokens.measure.embedding_scale import scale_effect
from tfcore.views.foundations.tokens.measure.embedding_table import KINDS, Neighbours, TableMap
from tfcore.views.foundations.tokens.say import embeddings as say
from tfcore.views.kept import kept
from tfcore.views.sources import Source, opened
from tfcore.views.view import View, view

NEAR = 10  # neighbours
SCALES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.0, 16.0, 20.0)


def _typed(model: object, tokenizer: Tokenizer, piece: str) -> list[int]:  # noqa: ARG001 - by whose name it is kept
    """The ids of a text, without those that a tokenizer puts around it."""
    around = tokenizer.encode("")
    return [i for i in tokenizer.encode(piece) if i not in around]


def _near(model: Transformer, tokenizer: Tokenizer, piece: str) -> Neighbours:
    return tables.nearest(model, tokenizer, _typed(model, tokenizer, piece)[0], NEAR)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table that are drawn, with their tokens as text, as bytes and as labels, and their kinds."""

    table: TableMap
    pieces: list[str]
    data: list[bytes]
    labels: list[str]
    kinds: list[int]


def _always_drawn(model: Transformer, tokenizer: Tokenizer, evenly: bool) -> TableRows:
    """The rows that are drawn whatever was typed, their components or norms, and names: the part that takes long."""
    ids = (tables.evenly if evenly else tables.most_used)(model, tokenizer)
    return TableRows(tables.table_map(model, ids, components=not evenly), *_named(tokenizer, ids))


def _named(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[list[str], list[bytes], list[str], list[int]]:
    """Tokens as text, as bytes and as labels, and their kinds."""
    data = [tokenizer.token_bytes(i) for i in ids]
    kinds = tables.kinds(tables.with_spaces(tokenizer, ids))
    return tokenizer.tokens(ids), data, [label(piece) for piece in data], kinds


typed = kept(_typed, entries=256)
near_of = kept(_near, entries=256)
always_drawn = kept(_always_drawn, entries=8)
scale_effect_of = kept(scale_effect, entries=64)


def rows_of(model: Source, evenly: bool, more: Sequence[int]) -> TableRows:
    """The rows that are drawn, those asked for besides at the end.

    Args:
        model: whose table it is.
        evenly: of a large table every second, third ... row, or those of the most frequent words.
        more: rows that are drawn besides.
    """
    (network, tokenizer), always = opened(model), always_drawn(model, evenly)
    table = tables.with_rows(network, always.table, more)
    pieces, data, labels, kinds = _named(tokenizer, table.ids[len(always.data) :].tolist())
    return TableRows(table, always.pieces + pieces, always.data + data, always.labels + labels, always.kinds + kinds)


@view
def neighbours(model: Source, piece: str) -> View:
    """The rows of the embedding table that point most nearly the same way as that of a token.

    Args:
        model: whose table it is.
        piece: a text; its first token is meant.
    """
    near, tokenizer = near_of(model, piece), opened(model)[1]
    return View(
        key="neighbours",
        title="The neighbours",
        result=near,
        chart=neighbours_figure(near, [label(one) for one in near.pieces[1:]], height=340),
        findings=(say.nearest_tokens(near),),
        table=lambda: pd.DataFrame({"id": near.ids, "token": tokenizer.tokens(near.ids), "cosine": near.cosines}),
        formula=(
            r"\begin{gathered} x_i = E[t_i],\; E \in \mathbb{R}^{|V| \times d} \qquad "
            r"\cos(a, b) = \frac{a \cdot b}{|a|\,|b|} \\ "
            r"x_p = s\,E[t_p] + PE(p), \qquad s = \sqrt{d}, \qquad |PE(p)| = \sqrt{d/2} \end{gathered}"
        ),
        code=(tables.cosine_with,),
    )


@view
def token_map(model: Source, piece: str) -> View:
    """The rows of the embedding table on the two directions in which they differ most; see neighbours."""
    near = near_of(model, piece)
    rows = rows_of(model, False, (near.token, *near.ids))
    table = rows.table
    return View(
        key="map",
        title="A map of the rows",
        result=table,
        chart=map_figure(table, rows.kinds, KINDS, rows.labels, near, height=460),
        findings=(say.map_share(table, near),),
        table=lambda: pd.DataFrame(
            {
                "id": table.ids,
                "token": rows.pieces,
                "x": table.points[:, 0],
                "y": table.points[:, 1],
                "length": table.norms,
            }
        ),
        code=(principal_components,),
    )


@view
def row_lengths(model: Source, piece: str) -> View:
    """The length of each row of the embedding table, by its id; see neighbours."""
    token = near_of(model, piece).token
    rows = rows_of(model, True, (token,))
    table = rows.table
    return View(
        key="norms",
        title="The lengths of the rows",
        result=table,
        chart=norms_figure(table, rows.kinds, KINDS, token, height=260),
        findings=(say.row_lengths(table, rows.data, token),),
        note="In most vocabularies low ids are special tokens, single bytes or characters, and then come merges or "
        "words, the frequent ones first.",
        table=lambda: pd.DataFrame({"id": table.ids, "token": rows.pieces, "length": table.norms}),
    )


@view
def scaled_lengths(model: Source, position: int, scale: float) -> View:
    """How long embeddings are, times a scale, beside the position vectors that are added; see recognised."""
    effect = scale_effect_of(model, position, (scale, *SCALES))
    return View(
        key="lengths",
        title="Lengths, scaled",
        result=effect,
        chart=lengths_figure(effect, scale, height=330),
        findings=(say.scaled_lengths(effect, 0),),
    )


@view
def recognised(model: Source, position: int, scale: float) -> View:
    """Why some models multiply their embeddings by sqrt(d): added position vectors would outweigh them.

    Args:
        model: whose table it is.
        position: whose sinusoidal vector is added.
        scale: the factor that is marked.
    """
    effect = scale_effect_of(model, position, (scale, *SCALES))
    return View(
        key="recognised",
        title="The scale",
        result=effect,
        chart=recognised_figure(effect, 0, height=330),
        findings=(say.recognised(effect, 0),),
        table=lambda: pd.DataFrame({"scale": effect.scales, "recognised": effect.recognised, "share": effect.share}),
        papers="Scaling by √d: Attention Is All You Need, section 3.4, arXiv:1706.03762",
        code=(scale_effect, sinusoidal),
    )
