"""The matrix product x W^T + b, by the faster of the two libraries that torch has for it on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tfcore.half_weights import is_narrower, widened_linear

LEAST = 2**18  # numbers in a matrix, from which oneDNN gains; below, its start takes longer than the product
FEW = 3  # vectors at once, up to which MKL is the faster one on processors of Intel


def linear(
    x: Float[Tensor, "*batch d_in"], weight: Float[Tensor, "d_out d_in"], bias: Float[Tensor, " d_out"] | None = None
) -> Float[Tensor, "*batch d_out"]:
    """x W^T + b.

    On a CPU torch takes its products of float32 from MKL, which on processors that are not Intel's reads a matrix at a
    third of the speed of the memory. oneDNN, which torch brings too, does not; what it gains is in the benchmarks
    ("onednn"). On Intel's, MKL is the faster one for a few vectors, as when text is written. They differ by rounding.
    """
    if is_narrower(weight, x.dtype):
        return widened_linear(x, weight, bias)
    if _by_onednn(x, weight, bias):
        return _OneDnn.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return F.linear(x, weight, bias)


class _OneDnn(torch.autograd.Function):
    """oneDNN's product, with a gradient in x alone: of its own, torch's operator for it has none."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "*batch d_in"],
        weight: Float[Tensor, "d_out d_in"],
        bias: Float[Tensor, " d_out"] | None,
    ) -> Float[Tensor, "*batch d_out"]:
        ctx.save_for_backward(weight)
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")

    @staticmethod
    def backward(ctx: Any, slope: Float[Tensor, "*batch d_out"]) -> tuple[Float[Tensor, "*batch d_in"], None, None]:
        (weight,) = ctx.saved_tensors
        return _OneDnn.apply(slope, weight.T, None), None, None  # type: ignore[no-untyped-call]


def _by_onednn(
    x: Float[Tensor, "*batch d_in"], weight: Float[Tensor, "d_out d_in"], bias: Float[Tensor, " d_out"] | None
) -> bool:
    return (
        weight.numel() >= LEAST
        and x.numel() > 0
        and x.device.type == weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and weight.is_contiguous()
        and not (torch.is_grad_enabled() and (weight.requires_grad or (bias is not None and bias.requires_grad)))
        and ONEDNN
        and not (INTEL and x.numel() <= FEW * x.shape[-1])
    )


def _made_by_intel() -> bool:
    """Whether the processor is one of Intel's; where that cannot be told, it is not."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return "GenuineIntel" in lines.read(200)  # the maker is on the second line
    except OSError:
        return False


INTEL = _made_by_intel()
ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
