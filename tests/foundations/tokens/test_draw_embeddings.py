"""Pictures of an embedding table: valid for plotly, and every token in them."""

import pytest

import tfcore
from tfcore.charts import theme
from tfcore.views.foundations.tokens.draw import embeddings as tables
from tfcore.views.foundations.tokens.measure import embedding_scale, embedding_table

MODEL, TOKENIZER = tfcore.load("stories")


RANKS = {pair: rank for rank, pair in enumerate(TOKENIZER.merges)}


def label(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")


def test_embedding_table():
    found, near = embedding_table.table_map(MODEL, range(2048)), embedding_table.nearest(MODEL, TOKENIZER, 787, 10)
    pieces = [TOKENIZER.token_bytes(i) for i in range(TOKENIZER.vocab_size)]
    kinds, labels = embedding_table.kinds(pieces), [label(piece) for piece in pieces]
    figure = tables.map_figure(found, kinds, embedding_table.KINDS, labels, near, 400)
    theme.check(figure)
    assert sum(len(trace.x) for trace in figure.data[:4]) == TOKENIZER.vocab_size
    theme.check(tables.neighbours_figure(near, [labels[i] for i in near.ids], 300))
    theme.check(tables.norms_figure(found, kinds, embedding_table.KINDS, 787, 300))


def test_scale():
    found = embedding_scale.scale_effect(MODEL, 5, (13.9, 1.0, 5.0), every=64)
    theme.check(tables.lengths_figure(found, 13.9, 300))
    figure = tables.recognised_figure(found, 0, 300)
    theme.check(figure)
    assert list(figure.data[0].x) == pytest.approx([1.0, 5.0, 13.9])
