"""Normalisation of one token's vector: LayerNorm and RMSNorm."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.config import ModelConfig


def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"] | None,
    eps: float,
) -> Float[Tensor, "*batch d_model"]:
    """(x - mean) / sqrt(variance + eps) * weight + bias, over the features of each token by itself.

    Source: arXiv:1607.06450, eq. 3-4. The variance is the biased one (divided by d_model).
    """
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def rms_norm(
    x: Float[Tensor, "*batch d_model"], weight: Float[Tensor, " d_model"], eps: float
) -> Float[Tensor, "*batch d_model"]:
    """x / sqrt(mean(x^2) + eps) * weight: no mean is taken away, no bias added (arXiv:1910.07467, eq. 4)."""
    return F.rms_norm(x, weight.shape, weight, eps)


class Norm(nn.Module):
    """The normalisation a config asks for, with its learned scale (and shift)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, self.eps = config.norm, config.norm_eps
        self.weight = nn.Parameter(torch.ones(config.d_model))
        has_bias = config.norm == "layernorm" and config.bias
        self.bias = nn.Parameter(torch.zeros(config.d_model)) if has_bias else None

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        if self.kind == "rmsnorm":
            return rms_norm(x, self.weight, self.eps)
        return layer_norm(x, self.weight, self.bias, self.eps)
