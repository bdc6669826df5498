"""The linear layer of all parts: torch's own, its product turned round where that is faster."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

FEW = range(4, 257)  # rows for which the CPU does W x^T up to 1.6 times as fast as x W^T


class Linear(nn.Linear):
    """y = x W^T + b. For few rows on a CPU it computes y^T = W x^T + b, so y is a transposed view there."""

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        rows = x.numel() // self.in_features
        if rows not in FEW or x.device.type != "cpu":
            return super().forward(x)
        flat = x.reshape(rows, self.in_features)
        weight = self.weight
        y = weight @ flat.T if self.bias is None else torch.addmm(self.bias[:, None], weight, flat.T)  # (d_out, rows)
        return y.T.unflatten(0, x.shape[:-1])
