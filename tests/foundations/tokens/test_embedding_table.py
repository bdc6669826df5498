"""The embedding table, measured: against NumPy, and facts of the shipped table that the page tells."""

import math

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tests.real import real
from tfcore.measures.statistics import principal_components
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.foundations.tokens.measure import embedding_scale
from tfcore.views.foundations.tokens.measure import embedding_table as tables
from tfcore.views.foundations.tokens.measure.embedding_scale import ScaleEffect
from tfcore.views.foundations.tokens.measure.embedding_table import Neighbours, TableMap
from tfcore.views.foundations.tokens.say import embeddings as say
from tfcore.views.foundations.tokens.say.embeddings import MapShare, NearestTokens, RowLengths

MODEL, TOKENIZER = tfcore.load("stories")
WEIGHTS = tables.rows(MODEL)


def test_norms_and_components_equal_numpys():
    found = tables.table_map(MODEL, range(2048))
    table = WEIGHTS.double().numpy()
    np.testing.assert_allclose(found.norms, np.linalg.norm(table, axis=1), rtol=1e-5)
    values, vectors = np.linalg.eigh(np.cov(table.T))
    np.testing.assert_allclose(found.explained, values[::-1] / values.sum(), atol=1e-6)
    projected = (table - table.mean(0)) @ vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(found.points), np.abs(projected), atol=1e-3)


def test_rows_asked_for_besides_stand_on_the_same_components():
    found = tables.table_map(MODEL, range(100, 1100), (1500, 100, 5))
    assert found.ids.tolist() == [*range(100, 1100), 1500, 5]
    assert (found.total, found.drawn, found.width) == (2048, 1000, 192)
    table = WEIGHTS[100:1100].double().numpy()
    _, vectors = np.linalg.eigh(np.cov(table.T))
    projected = (WEIGHTS[[1500, 5]].double().numpy() - table.mean(0)) @ vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(found.points[-2:]), np.abs(projected), atol=1e-3)
    np.testing.assert_allclose(found.norms[-1], WEIGHTS[5].norm(), rtol=1e-6)


def test_rows_are_added_to_a_map_that_is_kept_and_nobody_may_change():
    found = tables.table_map(MODEL, range(100))
    found.points.setflags(write=False)
    assert tables.with_rows(MODEL, found, (7, 1500)).ids.tolist() == [*range(100), 1500]


def test_norms_alone_are_the_same():
    found = tables.table_map(MODEL, range(100, 1100), (1500,), components=False)
    assert found.norms.tolist() == tables.table_map(MODEL, range(100, 1100), (1500,)).norms.tolist()
    assert found.points.tolist() == [[0, 0]] * 1001


def test_of_a_large_table_the_first_tokens_of_two_letters_or_more_are_drawn(monkeypatch):
    monkeypatch.setattr(tables, "DRAWN", 50)
    for most in (tables.MOST_ROWS, 2048):
        monkeypatch.setattr(tables, "MOST_ROWS", most)
        assert tables.most_used(MODEL, TOKENIZER) == tables.evenly(MODEL, TOKENIZER) == list(range(2048))
    monkeypatch.setattr(tables, "MOST_ROWS", 1_000)
    assert tables.evenly(MODEL, TOKENIZER) == list(range(0, 2048, 41))
    ids = tables.most_used(MODEL, TOKENIZER)
    pieces = [TOKENIZER.decode([i]) for i in range(2048)]
    assert ids == [i for i, piece in enumerate(pieces) if piece.strip().isalpha() and len(piece.strip()) > 1][:50]


@pytest.mark.usefixtures("real_models")
def test_word_pieces_that_go_on_do_not_start_a_word():
    _, tokenizer = real("minilm")
    assert tables.with_spaces(tokenizer, [1996, 2015]) == [b" the", b"s"]


def test_components_do_not_flip():
    one, _ = principal_components(WEIGHTS)
    two, _ = principal_components(WEIGHTS.clone())
    torch.testing.assert_close(one, two)


def test_neighbours_equal_those_of_torch():
    token = TOKENIZER.encode(" dog")[0]
    cosines = torch.nn.functional.cosine_similarity(WEIGHTS, WEIGHTS[token][None], dim=1)
    order = [i for i in cosines.argsort(descending=True).tolist() if i != token][:5]
    found = tables.nearest(MODEL, TOKENIZER, token, 5)
    assert list(found.ids) == order
    np.testing.assert_allclose(found.cosines, cosines[order], atol=1e-6)
    assert TOKENIZER.token_bytes(found.ids[0]) == b" cat"


def test_a_token_outside_the_table_is_refused():
    assert [tables.nearest(MODEL, TOKENIZER, token, 3).token for token in (0, 2047)] == [0, 2047]
    for token in (-1, 2048):
        with pytest.raises(ValueError, match=f"token={token} must be between 0 and 2047"):
            tables.nearest(MODEL, TOKENIZER, token, 3)


def test_in_a_small_table_all_others_are_nearest():
    few = small.model(vocab_size=4)
    found = tables.nearest(few, NamedTokenizer(("a", "b", "c", "d")), 1, 12)
    assert sorted(found.ids) == [0, 2, 3]
    assert list(found.cosines) == sorted(found.cosines, reverse=True)


def test_without_the_scale_positions_drown_the_tokens():
    found = embedding_scale.scale_effect(MODEL, 50, (1.0, math.sqrt(192)))
    assert found.position_norm == pytest.approx(math.sqrt(192 / 2), rel=1e-5)
    assert found.recognised[0] < 0.2
    assert found.recognised[1] == 1.0


def test_scale_effect_by_hand():
    found = embedding_scale.scale_effect(MODEL, 7, (3.0,), every=64)
    vector = tfcore.positions.sinusoidal(torch.tensor([7]), 192)[0]
    hits = []
    for i in range(0, 2048, 64):
        cosines = torch.nn.functional.cosine_similarity(WEIGHTS, (3 * WEIGHTS[i] + vector)[None], dim=1)
        hits.append(int(cosines.argmax()) == i)
    assert found.recognised[0] == pytest.approx(np.mean(hits))
    squares = 9 * (WEIGHTS**2).sum(-1)
    assert found.share[0] == pytest.approx(float((squares / (squares + 96)).mean()), rel=1e-4)


def test_a_small_model_works():
    model = small.model()
    assert tables.table_map(model, range(small.BASE["vocab_size"])).points.shape == (small.BASE["vocab_size"], 2)


def test_short_rows_besides_stand_where_the_components_put_them():
    model = small.model(init_std=0.01)
    found = tables.table_map(model, range(60), (60,))
    table = model.embed.weight.numpy()
    centred = table - table[:60].mean(0)
    _, _, directions = np.linalg.svd(centred[:60])
    np.testing.assert_allclose(np.abs(found.points), np.abs(centred @ directions[:2].T), atol=1e-5)


def test_a_row_of_zeros_has_a_cosine_of_zero_and_a_short_one_its_own():
    table, vector = torch.tensor([[0.03, 0.04], [0.0, 0.0]]), torch.tensor([0.05, 0.0])
    assert tables.cosine_with(table, vector).tolist() == pytest.approx([0.6, 0.0])


def test_kinds():
    pieces = [b" dog", b"ing", b" it's", b"7", b".", b" ", b"\xd0", b"", "é".encode()]
    assert tables.kinds(pieces) == [0, 1, 0, 2, 2, 2, 3, 2, 1]


def test_the_neighbours_in_words():
    near = Neighbours(
        7, tuple(bytes([b]) for b in b"xabcdefg"), (4, 1, 9, 3, 5, 6, 8), (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
    )
    assert say.nearest_tokens(near) == NearestTokens(b"x", 7, (b"a", b"b", b"c", b"d", b"e"), 0.9, 7)
    assert str(NearestTokens(b" dog", 787, (b" cat", b"a", b"b"), 0.724, 10)) == (
        "The 10 rows nearest to '·dog' (id 787): first '·cat' with cosine 0.72, then 'a', 'b'."
    )
    assert str(NearestTokens(b" dog", 787, (b" cat",), 0.724, 1)).endswith("first '·cat' with cosine 0.72.")


def test_the_bytes_of_neighbours_are_those_of_their_ids():
    near = tables.nearest(MODEL, TOKENIZER, 787, 4)
    assert near.pieces == tuple(TOKENIZER.token_bytes(i) for i in (787, *near.ids))


TABLE = TableMap(
    np.array([0, 1, 2, 7], np.int32),
    np.array([2.0, 0.5, 3.0, 1.5], np.float32),
    np.zeros((4, 2), np.float32),
    np.array([0.5, 0.3, 0.2], np.float32),
    total=9,
    drawn=3,
    width=3,
)


def test_the_map_in_words():
    near = Neighbours(2, (b" dog", b"a", b"b"), (0, 1), (0.9, 0.8))
    found = say.map_share(TABLE, near)
    assert (found.rows, found.width, found.token, found.near, found.drawn) == (9, 3, b" dog", 2, 3)
    assert found.share == pytest.approx(0.8)
    assert str(MapShare(2_048, 192, 0.1234, b" dog", 10, 2_048)) == (
        "PCA of the table, shape (2,048, 192), to 2 dimensions: 12.3% of the variance. Ringed: the 10 nearest of "
        "'·dog' by cosine in all 192."
    )


def test_the_lengths_in_words():
    found = say.row_lengths(TABLE, [b"a", b" b", b"c", b"d"], 7)
    assert found == RowLengths(1.75, b" b", 0.5, b"c", 3.0, b"d", 1.5, 4, 9)
    assert str(found) == (
        "Length of 4 of 9 rows: 1.75 on average. Shortest '·b' (0.50), longest 'c' (3.00); 'd' has 1.50."
    )


SCALED = ScaleEffect(
    d_model=192,
    position=50,
    norms=np.array([1.0, 2.0], np.float32),
    position_norm=9.8,
    scales=np.array([13.9, 0.5, 1.0, 4.0], np.float32),
    recognised=np.array([1.0, 0.1, 0.25, 0.75], np.float32),
    share=np.array([0.9, 0.05, 0.2, 0.625], np.float32),
)


def test_a_scale_in_words():
    found = say.scaled_lengths(SCALED, 3)
    assert found.values == {"mean": 1.5, "scale": 4.0, "scaled": 6.0, "position": 9.8}
    assert str(found) == "Lengths: E 1.50 on average, 4.0 · E 6.00, PE 9.80."
    share = say.recognised(SCALED, 3)
    assert share.values == {"position": 50, "unscaled": 0.25, "scaled": 0.75, "scale": 4.0, "token_share": 0.625}
    assert str(share) == (
        "Of every fourth token, the share whose own row is still nearest to s · E + PE(50): 25% at s = 1, 75% at s = "
        "4.0, where 62% of the squared length is the token."
    )


def test_what_is_looked_up_is_every_fourth_row():
    every = embedding_scale.scale_effect(MODEL, 7, (1.0,), every=4)
    assert embedding_scale.scale_effect(MODEL, 7, (1.0,)).recognised == every.recognised
    assert (every.d_model, every.position) == (192, 7)
