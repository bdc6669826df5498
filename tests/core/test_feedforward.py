"""The feed-forward layer against its formulas, one per activation."""

import math

import pytest
import torch
import torch.nn.functional as F

from tests.small import config, difference, ids, model
from tfcore.feedforward import FeedForward
from tfcore.inspection.capture import ActivationRecorder


def phi(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def by_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "relu": lambda gate, _: gate.clamp(min=0),
    "relu2": lambda gate, _: torch.where(gate > 0, gate * gate, 0),
    "gelu": lambda gate, _: gate * phi(gate),
    "gelu_tanh": lambda gate, _: by_tanh(gate),
    "silu": lambda gate, _: gate * torch.sigmoid(gate),
    "xielu": lambda x, _: x / 2 + torch.where(x > 0, 0.8 * x * x, 0.8 * (x.exp() - 1 - x)),
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


CLAMPED = {
    "limit": ({"ff_limit": 0.5}, lambda g, u: F.silu(g.clamp(max=0.5)) * u.clamp(-0.5, 0.5)),
    "gain": ({"ff_gain": 1.702}, lambda g, u: g * torch.sigmoid(1.702 * g) * u),
    "shift": ({"ff_shift": 1.0}, lambda g, u: F.silu(g) * (u + 1)),
    "gelu cut off": (
        {"ff_limit": 0.5, "activation": "geglu"},
        lambda g, u: F.gelu(g.clamp(max=0.5)) * u.clamp(-0.5, 0.5),
    ),
    "all": (
        {"ff_limit": 0.5, "ff_gain": 1.702, "ff_shift": 1.0},
        lambda g, u: g.clamp(max=0.5) * torch.sigmoid(1.702 * g.clamp(max=0.5)) * (u.clamp(-0.5, 0.5) + 1),
    ),
}


@pytest.mark.parametrize(("values", "formula"), CLAMPED.values(), ids=list(CLAMPED))
def test_gates_that_are_cut_off_sharpened_or_shifted(values, formula):
    layer = FeedForward(config(**{"activation": "swiglu"} | values, d_ff=10))
    x = torch.randn(2, 5, 24)
    gate, up = (x @ layer.up.weight.T).chunk(2, -1)
    assert difference(layer(x, ActivationRecorder()), formula(gate, up) @ layer.down.weight.T) < 1e-5


def test_no_width_leaves_the_layer_out():
    subject = model(d_ff=0)
    assert not any("mlp" in name or "ln2" in name for name in subject.state_dict())
    names = subject(ids(), capture="*").activations
    assert not any("mlp" in name for name in names)
    assert torch.equal(names["blocks.0.resid_post"], names["blocks.0.resid_pre"] + names["blocks.0.attn_out"])
