"""Slopes in closed form against autograd, and the numbers the page quotes."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.block import activation_functions as functions
from tfcore.feedforward import ACTIVATIONS


@pytest.mark.parametrize("kind", functions.PLAIN_ACTIVATIONS)
def test_slopes_are_those_of_autograd(kind):
    x = torch.linspace(-8, 8, 1_000, dtype=torch.float64, requires_grad=True)  # without 0, where ReLU has none
    (expected,) = torch.autograd.grad(ACTIVATIONS[kind](x).sum(), x)
    torch.testing.assert_close(functions.SLOPES[kind](x.detach()), expected, atol=1e-12, rtol=1e-9)


def test_exact_and_tanh_gelu_differ_by_less_than_a_thousandth():
    result = functions.activation_curves()
    assert 4e-4 < result.difference < 5e-4
    assert result.value.shape == result.slope.shape == (4, functions.CURVE_POINTS)


@pytest.mark.parametrize(
    ("kind", "x", "value"), [("relu", -1, 0), ("relu", 2, 2), ("gelu", -1, -0.158655), ("silu", -1, -0.268941)]
)
def test_known_values(kind, x, value):
    assert functions.value_and_slope(kind, float(x))[0] == pytest.approx(value, abs=1e-6)


def test_inputs_of_a_layer_are_the_gates_it_has():
    model, ids = small.model(), small.ids(1, 9)[0].tolist()
    result = functions.layer_inputs(model, ids, 1)
    gates = model(torch.tensor([ids]), capture=("blocks.1.mlp.pre",)).activations["blocks.1.mlp.pre"]
    assert result.count == gates.numel()
    assert result.share.sum() == pytest.approx(1)
    assert result.negative == pytest.approx(float((gates < 0).float().mean()))
    assert result.flat["relu"] == pytest.approx(float((gates <= 0).float().mean()))
    assert np.diff(result.edges) == pytest.approx(2 * functions.CURVE_LIMIT / len(result.share))
