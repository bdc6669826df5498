"""Slopes in closed form against autograd, and the numbers the page quotes."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.feedforward import ACTIVATIONS
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.measure import activation_functions as functions


@pytest.mark.parametrize("kind", functions.PLAIN_ACTIVATIONS)
def test_slopes_are_those_of_autograd(kind):
    x = torch.linspace(-8, 8, 1_000, dtype=torch.float64, requires_grad=True)  # without 0, where ReLU has none
    (expected,) = torch.autograd.grad(ACTIVATIONS[kind](x).sum(), x)
    torch.testing.assert_close(functions.SLOPES[kind](x.detach()), expected, atol=1e-12, rtol=1e-9)


def test_at_0_the_slope_of_relu_is_0_and_0_is_not_negative():
    x = torch.zeros(1, requires_grad=True)
    (expected,) = torch.autograd.grad(ACTIVATIONS["relu"](x).sum(), x)
    assert functions.relu_slope(x.detach()) == expected == 0
    assert functions.inputs_among(torch.tensor([0.0, -1.0])).negative == 0.5


def test_exact_and_tanh_gelu_differ_by_less_than_a_thousandth():
    result = functions.activation_curves()
    assert 4e-4 < result.difference < 5e-4
    assert result.value.shape == result.slope.shape == (5, functions.CURVE_POINTS)


@pytest.mark.parametrize(
    ("kind", "x", "value"),
    [("relu", -1, 0), ("relu", 2, 2), ("gelu", -1, -0.158655), ("silu", -1, -0.268941), ("relu2", 3, 9)],
)
def test_known_values(kind, x, value):
    assert functions.value_and_slope(kind, float(x))[0] == pytest.approx(value, abs=1e-6)


def test_inputs_of_a_layer_are_the_gates_it_has():
    model, ids = small.model(), small.ids(1, 9)[0].tolist()
    result = functions.inputs_among(*functions.pre_activations(model, ids, [1]))
    gates = model(torch.tensor([ids]), capture=("blocks.1.mlp.pre",)).activations["blocks.1.mlp.pre"]
    assert result.count == gates.numel()
    assert result.share.sum() == pytest.approx(1)
    assert result.negative == pytest.approx(float((gates < 0).float().mean()))
    assert result.flat["relu"] == pytest.approx(float((gates <= 0).float().mean()))
    assert np.diff(result.edges) == pytest.approx(2 * functions.CURVE_LIMIT / len(result.share))


@pytest.mark.parametrize("kind", functions.PLAIN_ACTIVATIONS)
@pytest.mark.parametrize("slope", [False, True])
def test_a_point_of_a_curve_and_its_ends(kind, slope):
    curve = say.curve_point(functions.activation_curves(), kind, 0.7, slope=slope)
    x = torch.linspace(-5, 5, 401, dtype=torch.float64, requires_grad=True)
    values = ACTIVATIONS[kind](x)
    (slopes,) = torch.autograd.grad(values.sum(), x)
    every = (slopes if slope else values.detach()).tolist()
    nearest = min(range(401), key=lambda i: abs(-5 + i / 40 - 0.7))
    assert curve.values["y"] == pytest.approx(every[nearest], abs=0.01)
    assert curve.values["lowest"] == pytest.approx(min(every), abs=1e-9)
    assert curve.values["highest"] == pytest.approx(max(every), abs=1e-9)
    assert str(curve).startswith("Slope of" if slope else "Value of")


def test_what_is_said_of_a_curve():
    curves = functions.activation_curves()
    value, slope = (say.curve_point(curves, "gelu", -1.0, slope=slope) for slope in (False, True))
    assert str(value) == "Value of GELU at -1: -0.1587; lowest -0.1700."
    assert str(slope) == "Slope of GELU at -1: -0.0833; lowest -0.1289, highest 1.1289."
    assert str(say.gelu_difference(curves)) == "Exact GELU and its tanh form differ by at most 0.00047."


def test_the_shares_of_inputs_are_those_of_the_function_that_is_named():
    flat = {"relu": 0.61, "gelu": 0.12, "gelu_tanh": 0.13, "silu": 0.04}
    inputs = functions.LayerInputs(np.zeros(2), np.zeros(1), 0.6, flat, 12_345)
    assert str(say.input_shares(inputs, "stories", 1, "silu")) == (
        "In a trained model: 12,345 inputs of layer 1 of stories on a text, 60% below 0. SiLU has a slope under 0.01 "
        "at 4% of them."
    )
