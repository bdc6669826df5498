"""The feed-forward layer against its formulas, one per activation."""

import math

import pytest
import torch

from tests.small import config, difference, ids, model
from tfcore.feedforward import FeedForward
from tfcore.inspection.capture import ActivationRecorder


def phi(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def by_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "relu": lambda gate, _: gate.clamp(min=0),
    "gelu": lambda gate, _: gate * phi(gate),
    "gelu_tanh": lambda gate, _: by_tanh(gate),
    "silu": lambda gate, _: gate * torch.sigmoid(gate),
    "swiglu": lambda gate, up: gate * torch.sigmoid(gate) * up,
    "geglu": lambda gate, up: gate * phi(gate) * up,
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", FORMULAS)
def test_it_is_its_formula(activation, bias):
    layer = FeedForward(config(activation=activation, d_ff=10, bias=bias))
    x = torch.randn(2, 5, 24)
    shift, end = (layer.up.bias, layer.down.bias) if bias else (0, 0)
    h = x @ layer.up.weight.T + shift
    expected = FORMULAS[activation](h[..., :10], h[..., 10:]) @ layer.down.weight.T + end
    assert difference(layer(x, ActivationRecorder()), expected) < 1e-5


def test_no_width_leaves_the_layer_out():
    subject = model(d_ff=0)
    assert not any("mlp" in name or "ln2" in name for name in subject.state_dict())
    names = subject(ids(), capture="*").activations
    assert not any("mlp" in name for name in names)
    assert torch.equal(names["blocks.0.resid_post"], names["blocks.0.resid_pre"] + names["blocks.0.attn_out"])
