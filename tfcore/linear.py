"""The linear layer of all parts: torch's own, its product turned round where that is faster."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

FEW = range(4, 257)  # rows for which the CPU does W x^T up to 1.6 times as fast as x W^T


def linear(
    x: Float[Tensor, "*batch d_in"], weight: Float[Tensor, "d_out d_in"], bias: Float[Tensor, " d_out"] | None = None
) -> Float[Tensor, "*batch d_out"]:
    """x W^T + b. For few rows on a CPU it computes W x^T + b, so the result is a transposed view there."""
    rows = x.numel() // weight.shape[1]
    if rows not in FEW or x.device.type != "cpu":
        return F.linear(x, weight, bias)
    flat = x.reshape(rows, weight.shape[1])
    y = weight @ flat.T if bias is None else torch.addmm(bias[:, None], weight, flat.T)  # (d_out, rows)
    return y.T.unflatten(0, x.shape[:-1])


class Linear(nn.Linear):
    """y = x W^T + b, as `linear` does it."""

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        return linear(x, self.weight, self.bias)
