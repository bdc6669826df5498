"""RoPE and ALiBi: scores and biases against their formulas, and what is said of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tfcore.positions import apply_rope, rope_angles, rope_cos_sin
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.measure import scores


@pytest.mark.parametrize("moved", [0, 1, 4096])
def test_rotary_scores_do_not_notice_a_common_move(moved):
    result = scores.rotary_scores(64, 1e4, 0.8, moved, 7)
    assert result.difference < 1e-4
    assert result.scores[0, 0] == pytest.approx(0.8 * 64, rel=1e-5)
    assert np.allclose(result.products, (result.query * result.key).sum(-1))


def test_pairs_add_up_to_the_score():
    result = scores.rotary_scores(16, 1e4, 0.3, 11, 5)
    assert len(result.pairs) == 8  # all of them
    assert result.products.sum() == pytest.approx(float(result.scores[1, 5]), abs=1e-4)


def test_rotary_scores_of_equal_vectors_fade():
    products = scores.rotary_scores(128, 1e4, 1.0, 0, 0).scores[0]
    assert products[0] == products.max()
    assert products[200:].mean() < 0.5 * products[0]


@pytest.mark.parametrize("cosine", [-1.0, 0.0, 0.5, 1.0])
def test_similar_vectors_have_the_cosine_asked_for(cosine):
    q, k = scores.similar_vectors(64, cosine, seed=3)
    assert float(q @ k) / 64 == pytest.approx(cosine, abs=1e-5)
    assert float(k.norm()) == pytest.approx(8)


@pytest.mark.parametrize(("n_heads", "head", "seq"), [(8, 0, 32), (1, 0, 4), (12, 11, 128)])
def test_linear_biases(n_heads, head, seq):
    result = scores.linear_biases(n_heads, head, seq)
    assert np.isnan(result.bias[0, 1:]).all()
    assert result.bias[-1, 0] == pytest.approx(-result.slopes[head] * (seq - 1))
    assert result.weights.sum(-1) == pytest.approx(np.ones(n_heads), abs=1e-5)
    ratio = result.weights[head, 1] / result.weights[head, 0]
    assert ratio == pytest.approx(math.exp(-result.slopes[head]), rel=1e-4)
    assert (np.argsort(result.reach) == np.argsort(-result.slopes)).all()


def test_what_is_said_of_the_products_is_at_its_distance():
    result = scores.rotary_scores(16, 1e4, 0.3, 11, 5)
    found = say.rotary_products(result, 11, 5).values
    assert (found["distance"], found["furthest"], found["moved"]) == (5, 256, 11)
    assert found["at_zero"] == result.scores[0, 0]
    assert found["at_distance"] == result.scores[1, 5]
    assert found["at_furthest"] == result.scores[0, 256]
    assert found["at_distance"] == pytest.approx(float(result.products.sum()), abs=1e-4)  # all eight pairs are shown
    assert found["difference"] == pytest.approx(abs(result.scores[0] - result.scores[1]).max())
    numbers = np.linspace(51.2, -2.0, 257)
    made_up = replace(result, scores=np.stack((numbers, numbers)), difference=1.23e-5)
    assert str(say.rotary_products(made_up, 100, 6)) == (
        "q · k by distance: 51.2 at distance 0, 50.0 at 6, -2.0 at 256. With the key at position 100 the same to "
        "within 1.2e-05."
    )


def test_what_is_said_of_the_arrows_is_at_their_positions():
    found = say.rotary_pairs(scores.rotary_scores(64, 1e4, 0.8, 100, 6), 100, 6)
    assert found.values["fastest"] == pytest.approx(2 * math.pi)
    assert found.values["slowest"] == pytest.approx(2 * math.pi * 1e4 ** (62 / 64), rel=1e-5)
    assert str(found) == (
        "8 of 32 pairs of dimensions as arrows: the query at position 106 (long) and the key at 100 (short). Moving "
        "both rotates both arrows alike; the angle between them stays. Pair 0 turns once in 6.3 positions, the last "
        "once in 47,117."
    )


def test_what_is_said_of_a_head_is_of_that_head():
    result = scores.linear_biases(8, 2, 10)
    bias = say.head_bias(result, 2)
    assert bias.values["one_back"] == pytest.approx(-(2**-3))
    assert bias.values["furthest"] == pytest.approx(-9 * 2**-3)
    assert str(bias) == (
        "Bias of head 2: 0 on the diagonal, -0.125 one token back, -1.12 at the first token seen from the last."
    )
    weights = [math.exp(-(2**-3) * k) for k in range(10)]
    reach = say.head_reach(result, 2)
    assert reach.values["own"] == pytest.approx(1 / sum(weights), rel=1e-5)
    distance = sum(k * w for k, w in enumerate(weights)) / sum(weights)
    assert reach.values["distance"] == pytest.approx(distance, rel=1e-5)
    assert str(reach) == (
        f"If all q · k were equal: head 2 puts {1 / sum(weights):.2f} on the last token itself; mean distance "
        f"{distance:.1f} tokens."
    )


def test_slopes_go_from_the_steepest_to_the_flattest():
    found = say.slope_range(scores.linear_biases(12, 3, 8))
    assert (found.values["steepest"], found.values["flattest"]) == pytest.approx((2**-0.5, 2**-8))
    assert str(found) == "12 slopes, from 0.707 to 0.00391."


def test_two_bases_leave_what_rotated_vectors_leave_on_average():
    found = scores.two_bases(16, (100.0, 10_000.0), furthest=1_000, count=60)
    assert found.distances[0] == 1
    assert found.distances[-1] == 1_000
    q, k = torch.randn(2, 5_000, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    k = q + 0.3 * k  # as often ahead of q as behind it in each pair
    for row, base in zip(found.left, found.bases, strict=True):
        for i in (0, 20, -1):
            left = []
            for m in (found.distances[i] * np.linspace(0.9, 1.1, 41)).round():
                turned = apply_rope(
                    q, *(x.double() for x in rope_cos_sin(rope_angles(torch.tensor([int(m)]), 16, base)))
                )
                left.append(float((turned * k).sum() / (q * k).sum()))
            assert row[i] == pytest.approx(np.mean(left), abs=0.02)
    near, wide = found.halves
    assert near < wide
    assert found.left[0][found.distances == near] < 0.5 <= found.left[0][found.distances < near].min()
    said = say.base_halves(found)
    assert str(said) == (
        f"On average half of q · k is left until distance {near:,} with base 100, and until distance {wide:,} with "
        "base 10,000."
    )
    never = scores.two_bases(16, (100.0, 1e7), furthest=4, count=9)
    assert never.halves[1] is None
    assert "at every distance up to 4 with base 10,000,000" in str(say.base_halves(never))
