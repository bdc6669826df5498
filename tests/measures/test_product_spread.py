"""Dot products of random vectors obey their theory."""

import math

import numpy as np
import pytest
import torch

from tfcore.measures.product_spread import BINS, WIDTHS, product_spread, products_by_width


@pytest.fixture(scope="module")
def spread():
    return product_spread(10_000, 0)


def test_products_are_plain_products_of_the_first_numbers():
    generator = torch.Generator().manual_seed(1)
    q, k = (torch.randn(5, 64, generator=generator, dtype=torch.float64) for _ in range(2))
    found = dict(products_by_width(q, k))
    assert list(found) == [w for w in WIDTHS if w <= 64]
    for width, product in found.items():
        np.testing.assert_allclose(product, (q[:, :width] * k[:, :width]).sum(-1), atol=1e-12)


def test_variance_is_d_k(spread):
    error = math.sqrt((2 + 6) / spread.samples)  # of the variance's estimate, largest at d_k = 1
    assert np.abs(spread.variance / spread.widths - 1).max() < 4 * error
    assert spread.kurtosis[0] == pytest.approx(6, abs=4)
    assert abs(spread.kurtosis[-1]) < 0.3


def test_histograms_are_densities_near_the_normal_curve(spread):
    step = spread.edges[1] - spread.edges[0]
    middle = (spread.edges[1:] + spread.edges[:-1]) / 2
    assert spread.density.shape == (len(WIDTHS), len(middle)) == (11, BINS)
    np.testing.assert_allclose(spread.density.sum(-1) * step, 1, atol=0.01)
    normal = np.exp(-(middle**2) / 2) / math.sqrt(2 * math.pi)
    assert np.abs(spread.density[-1] - normal).max() < 0.04
    assert spread.density[0].max() > 2 * normal.max(), "one product is no normal number"


def test_a_draw_can_be_repeated():
    first = product_spread(200, 0).variance
    np.testing.assert_array_equal(product_spread(200, 0).variance, first)
    assert (product_spread(200, 1).variance != first).all()
