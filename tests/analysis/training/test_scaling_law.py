"""The fit finds the law that made the numbers, and holds its own with noise."""

import numpy as np
import pytest

from tfcore.analysis.training.scaling_law import Law, fit_law

CHINCHILLA = Law(1.69, 406.4, 0.34, 410.7, 0.28)  # arXiv:2203.15556, equation 10
SIZES = [(n, d) for n in (1e4, 3e4, 1e5, 3e5, 1e6, 3e6) for d in (1e6, 2e6, 4e6)]


def test_the_published_law_is_found_again():
    n, d = zip(*SIZES, strict=True)
    law = fit_law(n, d, [CHINCHILLA.loss(*size) for size in SIZES])
    for name in ("floor", "a", "alpha", "b", "beta"):
        assert getattr(law, name) == pytest.approx(getattr(CHINCHILLA, name), rel=1e-3)


def test_a_larger_size_is_foretold_from_noisy_ones():
    noise = np.random.default_rng(0).normal(1, 0.003, len(SIZES))
    n, d = zip(*SIZES, strict=True)
    law = fit_law(n, d, [CHINCHILLA.loss(*size) * factor for size, factor in zip(SIZES, noise, strict=True)])
    assert law.loss(1e7, 4e6) == pytest.approx(CHINCHILLA.loss(1e7, 4e6), rel=0.005)
