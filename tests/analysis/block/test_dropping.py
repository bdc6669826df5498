"""Dropout: the mask, the factor, the mean, nothing at inference; against torch's own module."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.block.dropping import drop, dropout, two_passes

TEXT = small.ids(1, 9)[0].tolist()
X = torch.randn(20_000, generator=torch.Generator().manual_seed(1))


def draw(p, training=True, seed=0, x=X):
    return dropout(x, p, training, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_mask_and_factor(p):
    after = draw(p)
    kept = after != 0
    torch.testing.assert_close(after[kept], X[kept] / (1 - p))
    assert float((~kept).float().mean()) == pytest.approx(p, abs=0.015)
    module = torch.nn.Dropout(p)(X)
    assert float((module == 0).float().mean()) == pytest.approx(float((~kept).float().mean()), abs=0.02)
    torch.testing.assert_close(module[module != 0], X[module != 0] / (1 - p))


def test_nothing_happens_at_inference_or_at_zero():
    assert torch.equal(draw(0.5, training=False), X)
    assert torch.equal(draw(0.0), X)
    assert torch.equal(draw(0.5, training=False), torch.nn.Dropout(0.5).eval()(X))


def test_the_mean_is_preserved_with_the_spread_that_theory_gives():
    result = drop(small.model(), TEXT, "blocks.1.mlp_out", 0.4, True, 0)
    assert result.means.mean() == pytest.approx(result.mean, abs=4 * result.spread / np.sqrt(len(result.means)))
    assert result.means.std() == pytest.approx(result.spread, rel=0.06)
    assert result.spread == pytest.approx(np.sqrt(0.4 / 0.6 * (result.before**2).mean() / len(result.before)))
    np.testing.assert_allclose(result.after[result.kept], result.before[result.kept] / 0.6, rtol=1e-6)


def test_inference_leaves_the_activation_alone():
    result = drop(small.model(), TEXT, "blocks.1.mlp_out", 0.4, False, 0)
    assert np.array_equal(result.before, result.after)
    assert result.kept.all()
    assert result.spread == 0
    np.testing.assert_allclose(result.means, result.mean, atol=1e-6)


def test_two_passes_differ_in_training_only_and_leave_the_global_generator_alone():
    state = torch.get_rng_state()
    assert two_passes(0.3, True) > 0.01
    assert two_passes(0.3, False) == 0.0
    assert two_passes(0.0, True) == 0.0
    assert torch.equal(torch.get_rng_state(), state)
