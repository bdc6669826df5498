"""Layers of torch as the model uses them: a faster product on CPUs, no weights where none are wanted, and matrices that
may be kept in 16 bits."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.half_weights import is_narrower
from tfcore.onednn import linear


def low_rank_update(
    a: Float[Tensor, "rank d_in"], b: Float[Tensor, "d_out rank"], scale: float
) -> Float[Tensor, "d_out d_in"]:
    """s B A, which LoRA adds to a matrix (arXiv:2106.09685, equation 3)."""
    return scale * b @ a


class _MatrixLayer(nn.Module):
    """A layer with one matrix.

    Args:
        wider: the type that is computed in where the matrix is kept in 16 bits; None: the matrix's own.
    """

    wider: torch.dtype | None = None

    @property
    def stored(self) -> Tensor:
        """The matrix as it is kept."""
        if (kept := self._parameters.get("weight")) is None:
            raise AttributeError("weight")  # while torch makes the layer
        return kept

    @property
    def weight(self) -> Tensor:
        """The matrix in the type that is computed in: a copy of it, where it is kept in another."""
        return self.stored.to(self.dtype)

    @property
    def dtype(self) -> torch.dtype:
        """The type that is computed in."""
        stored = self.stored
        return stored.dtype if self.wider is None or not is_narrower(stored, self.wider) else self.wider


class Linear(_MatrixLayer, nn.Linear):  # type: ignore[override]
    """A layer of torch's whose product is `linear`."""

    def reset_parameters(self) -> None:
        """Weights as torch draws them; none on the meta device, where torch would take 80 MB to draw nothing."""
        if not self.stored.is_meta:
            super().reset_parameters()

    def forward(self, input: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:  # noqa: A002 - torch's name
        """x W^T + b."""
        return linear(input, self.stored, self.bias)


class Embedding(_MatrixLayer, nn.Embedding):  # type: ignore[override]
    """torch's, which draws no weights on the meta device."""

    def reset_parameters(self) -> None:
        """Weights as torch draws them; none on the meta device, see Linear."""
        if not self.stored.is_meta:
            super().reset_parameters()

    def forward(self, input: Int[Tensor, "*ids"]) -> Float[Tensor, "*ids d_model"]:  # noqa: A002 - torch's name
        """The rows of these ids."""
        return F.embedding(input, self.stored).to(self.dtype)


def matrices(model: nn.Module) -> set[str]:
    """Names of the weights that may be kept in 16 bits: matrices of layers, and those of experts in one tensor."""
    layers = {f"{name}.weight" for name, layer in model.named_modules() if isinstance(layer, _MatrixLayer)}
    return layers | {name for name, one in model.named_parameters() if one.ndim == 3}


def widen(model: nn.Module, dtype: torch.dtype | None) -> None:
    """Compute in this type with matrices that are kept in 16 bits; None: in their own."""
    for layer in model.modules():
        if isinstance(layer, _MatrixLayer):
            layer.wider = dtype
