"""The numbers behind the page on positions."""

import math

import numpy as np
import pytest

from tfcore.analysis.foundations import position_schemes as schemes


def test_table_and_wavelengths():
    result = schemes.sinusoidal_table(12, 8, 10_000.0)
    assert result.table.shape == (12, 8)
    assert result.table[0].tolist() == [0, 1] * 4
    assert result.wavelengths == pytest.approx([2 * math.pi * 10_000 ** (i / 4) for i in range(4)])


@pytest.mark.parametrize(
    ("length", "d_model", "base", "k", "start"), [(128, 128, 1e4, 5, 40), (16, 8, 10.0, 128, 1000)]
)
def test_shift_is_exact_up_to_rounding(length, d_model, base, k, start):
    result = schemes.sinusoidal_shift(length, d_model, base, k, start)
    assert 0 < result.error < 1e-6
    assert result.spread < 1e-6 * d_model
    assert result.products.shape == (2, length)
    assert result.products[0, 0] == pytest.approx(d_model / 2)
    by_hand = sum(math.cos(3 / base ** (2 * i / d_model)) for i in range(d_model // 2))
    assert result.products[1, 3] == pytest.approx(by_hand, abs=1e-4)


def test_shift_matrix_is_block_diagonal():
    matrix = schemes.sinusoidal_shift(16, 8, 1e4, 3, 0).matrix
    blocks = np.kron(np.eye(4), np.ones((2, 2)))
    assert not matrix[blocks == 0].any()
    assert matrix[0, :2] == pytest.approx([math.cos(3), math.sin(3)])


@pytest.mark.parametrize("moved", [0, 1, 4096])
def test_rotary_scores_do_not_notice_a_common_move(moved):
    result = schemes.rotary_scores(64, 1e4, 0.8, moved, 7)
    assert result.difference < 1e-4
    assert result.scores[0, 0] == pytest.approx(0.8 * 64, rel=1e-5)
    assert np.allclose(result.products, (result.query * result.key).sum(-1))


def test_pairs_add_up_to_the_score():
    result = schemes.rotary_scores(16, 1e4, 0.3, 11, 5)
    assert len(result.pairs) == 8  # all of them
    assert result.products.sum() == pytest.approx(float(result.scores[1, 5]), abs=1e-4)


def test_rotary_scores_of_equal_vectors_fade():
    scores = schemes.rotary_scores(128, 1e4, 1.0, 0, 0).scores[0]
    assert scores[0] == scores.max()
    assert scores[200:].mean() < 0.5 * scores[0]


@pytest.mark.parametrize("cosine", [-1.0, 0.0, 0.5, 1.0])
def test_similar_vectors_have_the_cosine_asked_for(cosine):
    q, k = schemes.similar_vectors(64, cosine, seed=3)
    assert float(q @ k) / 64 == pytest.approx(cosine, abs=1e-5)
    assert float(k.norm()) == pytest.approx(8)


@pytest.mark.parametrize(("n_heads", "head", "seq"), [(8, 0, 32), (1, 0, 4), (12, 11, 128)])
def test_linear_biases(n_heads, head, seq):
    result = schemes.linear_biases(n_heads, head, seq)
    assert np.isnan(result.bias[0, 1:]).all()
    assert result.bias[-1, 0] == pytest.approx(-result.slopes[head] * (seq - 1))
    assert result.weights.sum(-1) == pytest.approx(np.ones(n_heads), abs=1e-5)
    ratio = result.weights[head, 1] / result.weights[head, 0]
    assert ratio == pytest.approx(math.exp(-result.slopes[head]), rel=1e-4)
    assert (np.argsort(result.reach) == np.argsort(-result.slopes)).all()
