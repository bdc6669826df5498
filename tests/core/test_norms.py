"""LayerNorm and RMSNorm against their formulas and torch's own modules."""

import pytest
import torch
from torch import nn

from tests.small import config, difference
from tfcore.norms import Norm, layer_norm, rms_norm


def test_layer_norm_is_its_formula():
    x, weight, bias = 3 + 2 * torch.randn(5, 8), torch.randn(8), torch.randn(8)
    centred = x - x.mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt() * weight + bias
    assert difference(layer_norm(x, weight, bias, 1e-3), expected) < 1e-5


def test_rms_norm_is_its_formula_and_takes_no_mean_away():
    x, weight = 3 + 2 * torch.randn(5, 8), torch.randn(8)
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * weight
    assert difference(rms_norm(x, weight, 1e-3), expected) < 1e-5
    assert rms_norm(x, torch.ones(8), 1e-3).mean() > 0.5


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("bias", [True, False])
def test_the_module_is_torchs_module(norm, bias):
    ours = Norm(config(norm=norm, bias=bias, norm_eps=1e-4))
    theirs = nn.LayerNorm(24, eps=1e-4, bias=bias) if norm == "layernorm" else nn.RMSNorm(24, eps=1e-4)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 7, 24)
    assert difference(ours(x), theirs(x)) < 1e-5
