"""The linear layer gives what torch's gives, whichever way round it multiplies."""

import pytest
import torch
from torch import nn

from tests.small import difference
from tfcore.linear import FEW, Linear


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1,), (3,), (4,), (1, 13), (3, 7), (2, 2, 9), (FEW[-1],), (FEW[-1] + 1,)])
def test_it_is_torchs_linear_layer(shape, bias):
    subject = Linear(24, 40, bias=bias)
    x = torch.randn(*shape, 24)
    assert difference(subject(x), nn.Linear.forward(subject, x)) < 1e-6


def test_gradients_are_the_same_either_way():
    subject, x = Linear(5, 3).double(), torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    assert len(x) in FEW
    assert torch.autograd.gradcheck(subject, (x,))
