"""Normalisation of one token's vector: LayerNorm and RMSNorm."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.part_configs import Norm as Kind


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


def norm_scale(x: Float[Tensor, "*batch d_model"], kind: str, eps: float) -> Float[Tensor, "*batch 1"]:
    """The divisor of a normalisation: sqrt(variance + eps) for "layernorm", sqrt(mean(x^2) + eps) for "rmsnorm"."""
    if kind == "layernorm":
        x = x - x.mean(-1, keepdim=True)
    return (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


class Norm(nn.Module):
    """The normalisation a config asks for, with its learned scale (and shift).

    Args:
        width: of the vectors; None means d_model.
        kind, eps: None means the config's.
    """

    def __init__(
        self, config: ModelConfig, width: int | None = None, kind: Kind | None = None, eps: float | None = None
    ) -> None:
        super().__init__()
        self.kind, self.eps = kind or config.norm.kind, config.norm.eps if eps is None else eps
        self.weight = nn.Parameter(torch.ones(width or config.d_model))
        has_bias = self.kind == "layernorm" and config.has_norm_bias
        self.bias = nn.Parameter(torch.zeros(width or config.d_model)) if has_bias else None

    def forward(
        self, x: Float[Tensor, "*batch d_model"], recorder: ActivationRecorder | None = None, name: str = ""
    ) -> Float[Tensor, "*batch d_model"]:
        """The normalised vectors; with a recorder, recorded there as NAME.scale and NAME.normalized."""
        if recorder is None:
            return self._at_once(x)
        if not recorder.wants(f"{name}.scale"):
            return recorder(f"{name}.normalized", self._at_once(x))
        scale = recorder(f"{name}.scale", norm_scale(x, self.kind, self.eps))
        centred = x - x.mean(-1, keepdim=True) if self.kind == "layernorm" else x
        y = centred / scale * self.weight
        return recorder(f"{name}.normalized", y if self.bias is None else y + self.bias)

    def _at_once(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        if self.kind == "rmsnorm":
            return rms_norm(x, self.weight, self.eps)
        return layer_norm(x, self.weight, self.bias, self.eps)


class NoNorm(nn.Identity):
    """The identity, where a block has no norm."""

    def forward(
        self,
        input: Float[Tensor, "*batch d_model"],  # noqa: A002
        recorder: ActivationRecorder | None = None,  # noqa: ARG002
        name: str = "",  # noqa: ARG002
    ) -> Float[Tensor, "*batch d_model"]:
        return input
