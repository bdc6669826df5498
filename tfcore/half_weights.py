"""Matrices that are kept in half the bytes of the type that is computed in: those of large models, in 16 bits.

What was published in 16 bits loses nothing: the numbers are those of the same weights in float32, but for rounding.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

HALF = (torch.bfloat16, torch.float16)
# Numbers of a matrix that are turned at a time: 1 MB, which stays in a processor's own memory; on a GPU 256 MB.
BLOCK, BLOCK_ELSEWHERE = 2**18, 2**26


def is_narrower(weight: Float[Tensor, "*row column"], dtype: torch.dtype) -> bool:
    """Whether a matrix is kept in 16 bits, and computed in another type."""
    return weight.dtype in HALF and dtype in (torch.float32, torch.float64)


def widened_linear(
    x: Float[Tensor, "*batch d_in"], weight: Float[Tensor, "d_out d_in"], bias: Float[Tensor, " d_out"] | None
) -> Float[Tensor, "*batch d_out"]:
    """x W^T + b in the type of x, for a matrix that is kept in another: rows of it are turned, a block at a time."""
    if weight.requires_grad and torch.is_grad_enabled():  # all of it, for a gradient that reaches the matrix
        return F.linear(x, weight.to(x.dtype), bias)
    y: Tensor = _Widened.apply(x, weight)  # type: ignore[no-untyped-call]
    return y if bias is None else y + bias


class _Widened(torch.autograd.Function):
    """The product, with a gradient in x alone; torch's own would keep every block in the wider type for it."""

    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "*batch d_in"], weight: Float[Tensor, "d_out d_in"]) -> Tensor:
        ctx.save_for_backward(weight)
        y = x.new_empty(*x.shape[:-1], len(weight))
        for rows, block in _blocks(weight, x.dtype):
            y[..., rows] = x @ block.T
        return y

    @staticmethod
    def backward(ctx: Any, slope: Float[Tensor, "*batch d_out"]) -> tuple[Float[Tensor, "*batch d_in"], None]:
        (weight,) = ctx.saved_tensors
        total = slope.new_zeros(*slope.shape[:-1], weight.shape[1])
        for rows, block in _blocks(weight, slope.dtype):
            total += slope[..., rows] @ block
        return total, None


def _blocks(weight: Float[Tensor, "d_out d_in"], dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """Rows of a matrix, and their numbers in a type; they are to be used before the next are asked for."""
    size = BLOCK if weight.device.type == "cpu" else BLOCK_ELSEWHERE
    height = max(1, size // max(1, weight.shape[1]))
    room = weight.new_empty(min(height, len(weight)), weight.shape[1], dtype=dtype)  # taken once, or pages are cleared
    for start in range(0, len(weight), height):
        part = weight[start : start + height]
        yield slice(start, start + height), room[: len(part)].copy_(part)
