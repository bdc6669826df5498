"""The embedding table, measured: against NumPy, and facts of the shipped table that the page tells."""

import math

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tfcore.analysis.foundations import embedding_table as tables

MODEL, TOKENIZER = tfcore.load("stories")
WEIGHTS = tables.rows(MODEL)


def test_norms_and_components_equal_numpys():
    found = tables.table_map(MODEL)
    table = WEIGHTS.double().numpy()
    np.testing.assert_allclose(found.norms, np.linalg.norm(table, axis=1), rtol=1e-5)
    values, vectors = np.linalg.eigh(np.cov(table.T))
    np.testing.assert_allclose(found.explained, values[::-1] / values.sum(), atol=1e-6)
    projected = (table - table.mean(0)) @ vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(found.points), np.abs(projected), atol=1e-3)


def test_components_do_not_flip():
    one, _ = tables.principal_components(WEIGHTS)
    two, _ = tables.principal_components(WEIGHTS.clone())
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
    with pytest.raises(ValueError, match="between 0 and 2047"):
        tables.nearest(MODEL, TOKENIZER, 2048, 3)


def test_without_the_scale_positions_drown_the_tokens():
    found = tables.scale_effect(MODEL, 50, (1.0, math.sqrt(192)))
    assert found.position_norm == pytest.approx(math.sqrt(192 / 2), rel=1e-5)
    assert found.recognised[0] < 0.2
    assert found.recognised[1] == 1.0


def test_scale_effect_by_hand():
    found = tables.scale_effect(MODEL, 7, (2.0,), every=64)
    vector = tfcore.positions.sinusoidal(torch.tensor([7]), 192)[0]
    hits = []
    for i in range(0, 2048, 64):
        cosines = torch.nn.functional.cosine_similarity(WEIGHTS, (2 * WEIGHTS[i] + vector)[None], dim=1)
        hits.append(int(cosines.argmax()) == i)
    assert found.recognised[0] == pytest.approx(np.mean(hits))
    squares = 4 * (WEIGHTS**2).sum(-1)
    assert found.share[0] == pytest.approx(float((squares / (squares + 96)).mean()), rel=1e-4)


def test_a_small_model_works():
    model = small.model()
    assert tables.table_map(model).points.shape == (small.BASE["vocab_size"], 2)


def test_kinds():
    pieces = [b" dog", b"ing", b" it's", b"7", b".", b" ", b"\xd0", b"", "é".encode()]
    assert tables.kinds(pieces) == [0, 1, 0, 2, 2, 2, 3, 2, 1]
