"""The experiments obey the theory drawn over them, and the theory is right where it is known exactly."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.product_spread import WIDTHS, ProductSpread
from tfcore.views.foundations.attention.measure import scale as score_scale
from tfcore.views.foundations.attention.measure.scale import Saturation, gradient_theory, measured_jacobian, saturation
from tfcore.views.foundations.attention.say import product_variance, saturation_means, theory_at, variance_by_width


@pytest.fixture(scope="module", params=[2, 16])
def saturated(request):
    return saturation(request.param, 0)


@given(scores=st.lists(st.floats(-20, 20), min_size=2, max_size=8))
def test_the_jacobian_is_what_autograd_finds(scores):
    x = torch.tensor([scores], dtype=torch.float64)
    p = x.softmax(-1)
    theirs = torch.autograd.functional.jacobian(lambda row: row.softmax(-1), x[0])
    np.testing.assert_allclose(score_scale.softmax_jacobian(p)[0], theirs, atol=1e-12)
    np.testing.assert_allclose(measured_jacobian(x)[0], theirs, atol=1e-12)


def test_steepest_slope_lies_on_the_curve(saturated):
    p = saturated.largest
    np.testing.assert_allclose(saturated.steepest, p * (1 - p), atol=1e-6)
    assert saturated.steepest.max() <= 0.25 + 1e-6


def test_without_the_division_the_softmax_saturates(saturated):
    entropy, largest, norm = (v.mean(-1) for v in (saturated.entropy, saturated.largest, saturated.gradient))
    for values in (entropy, largest, norm):
        np.testing.assert_allclose(values[0, 0], values[1, 0], rtol=1e-5)  # d_k = 1: the same
    assert entropy[0, -1] < 0.15 * entropy[1, -1]
    assert largest[0, -1] > 0.93
    assert norm[0, -1] < 0.3 * norm[1, -1]
    assert np.ptp(entropy[1, 4:]) < 0.15


def test_the_norm_follows_the_theory(saturated):
    theory = gradient_theory(saturated.n_keys)
    norm = saturated.gradient[0].mean(-1)
    error = saturated.gradient[0].std(-1) / math.sqrt(saturated.gradient.shape[-1])
    far = WIDTHS.index(512)
    assert abs(norm[far] - theory.slope / math.sqrt(512)) < 4 * error[far] + 0.03 * norm[far]
    if saturated.n_keys == 2:  # known for every deviation, once q and k are long enough to give normal scores
        exact = np.interp(np.sqrt(saturated.widths), theory.deviations, theory.two)
        assert (np.abs(norm - exact)[4:] < 4 * error[4:] + 0.02 * exact[4:]).all()


def test_theory_in_closed_form():
    assert gradient_theory(2).slope == pytest.approx(1 / math.sqrt(math.pi), rel=1e-6)
    assert gradient_theory(3).slope == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-6)
    for n in (2, 5, 64):
        equal = torch.full((1, n), 1 / n, dtype=torch.float64)
        assert gradient_theory(n).flat == pytest.approx(float(score_scale.softmax_jacobian(equal).norm()))
    two = gradient_theory(2)
    assert two.two[-1] * two.deviations[-1] == pytest.approx(two.slope, rel=0.01)


def test_the_gap_of_normal_numbers_has_the_density_used():
    draws = np.random.default_rng(0).normal(size=(200_000, 16))
    top = np.sort(draws, axis=-1)[:, -2:]
    near = 0.05
    assert ((top[:, 1] - top[:, 0]) < near).mean() / near == pytest.approx(gradient_theory(16).slope, rel=0.06)


def test_the_variances_in_words():
    widths = np.array([1, 2, 4, 8, 1024])
    variance = np.array([0.9, 2.6, 3.9, 8.1, 1034.0])
    result = ProductSpread(widths, 2_000, variance, variance, np.zeros(2), np.zeros((5, 1)))
    plain, divided = (product_variance(result, 4, divided=one) for one in (False, True))
    assert (plain.width, plain.measured, plain.theory, plain.measured_text) == (1024, 1034, 1024, "1034")
    assert (divided.width, divided.theory, divided.measured_text) == (1024, 1, "1.010")
    assert divided.measured == pytest.approx(1034 / 1024)
    assert str(plain) == "2,000 pairs. q · k at d_k = 1,024: variance 1034 measured, 1,024 in theory."
    assert str(divided) == "2,000 pairs. q · k ÷ √d_k at d_k = 1,024: variance 1.01 measured, 1 in theory."
    found = variance_by_width(result)
    ratios = [v / w for v, w in zip(variance.tolist(), widths.tolist(), strict=True)]
    assert (found.values["lowest"], found.values["highest"]) == (min(ratios), max(ratios))
    assert str(found) == (
        "Measured: 0.9, 3.9, 1034 at d_k = 1, 4, 1,024; after the division by √d_k between 0.900 and 1.300."
    )


@pytest.mark.parametrize(("n_keys", "queries"), [(1, 1_024), (3, 682), (32, 64), (100, 32)])
def test_the_fewer_keys_the_more_queries(n_keys, queries, monkeypatch):
    monkeypatch.setattr(score_scale, "WIDTHS", (1, 2))
    assert saturation(n_keys, 0).largest.shape == (2, 2, queries)


def test_the_means_of_the_softmax_in_words():
    rng = np.random.default_rng(5)
    values = dict(zip(("entropy", "largest", "gradient", "steepest"), rng.random((4, 2, 11, 50)), strict=True))
    result = Saturation(np.array(WIDTHS), 16, **values)
    for quantity, one in values.items():
        found = saturation_means(result, quantity, 3).values
        without, divided = (sum(one[row, 3].tolist()) / 50 for row in (0, 1))
        assert (found["without"], found["divided"]) == (pytest.approx(without), pytest.approx(divided))
        assert (found["width"], found["n_keys"], found["queries"]) == (8, 16, 50)
    ends = {"entropy": (" bits", 2), "largest": ("", 2), "steepest": ("", 3), "gradient": ("", 4)}
    names = {"entropy": "Entropy", "largest": "Largest weight", "steepest": "Steepest slope", "gradient": "Norm"}
    for quantity, (unit, digits) in ends.items():
        without, divided = (float(one.mean()) for one in values[quantity][:, 10])
        assert str(saturation_means(result, quantity, 10)) == (
            f"{names[quantity]} {without:.{digits}f}{unit} without the division, {divided:.{digits}f} with "
            "it, at d_k = 1,024 with 16 keys: means of 50 queries."
        )


def test_the_theory_in_words():
    theory = gradient_theory(2)
    found = theory_at(theory, 64)
    assert found.values["norm"] == pytest.approx(1 / math.sqrt(math.pi) / 8, rel=1e-6)
    assert str(found) == "Theory: 0.500 for equal weights, 0.564 ÷ √d_k = 0.0705 where one score is far ahead."
