"""Weights in MXFP4: blocks of 32 numbers of four bits each with one scale, a power of two (arXiv:2310.10537)."""

from typing import Any

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

# Sign, two bits of exponent, one of mantissa (arXiv:2310.10537, table 1; "OCP Microscaling Formats", section 5.3.3)
VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
BIAS = 127  # of the exponent of a scale
BLOCKS, SCALES = "_blocks", "_scales"  # how the two tensors of one weight are called, after its own name


def dequantised(
    blocks: UInt8[Tensor, "*rows block 16"], scales: UInt8[Tensor, "*rows block"]
) -> Float[Tensor, "*rows numbers"]:
    """The numbers in bfloat16, which holds each of them exactly; those whose scale is no number are none.

    Args:
        blocks: two numbers a byte, the first in its lower half.
        scales: exponents of two; 255 stands for no number.
    """
    values = torch.tensor(VALUES, dtype=torch.float32)
    pairs = torch.stack((values.repeat(16), values.repeat_interleave(16)), dim=-1)  # (byte, 2)
    exponents = torch.where(scales == 255, torch.nan, torch.exp2(scales.double() - BIAS)).float()
    numbers = pairs[blocks.int()].flatten(-2) * exponents[..., None]  # (*rows, block, 32)
    return numbers.flatten(-2).to(torch.bfloat16)


class PackedWeight:
    """The weights of all experts of a layer in MXFP4, read as the other tensors of a file are.

    Args:
        blocks, scales: slices of the file: (expert, out, in / 32, 16) and (expert, out, in / 32).
    """

    def __init__(self, blocks: Any, scales: Any) -> None:
        self.blocks, self.scales = blocks, scales

    @classmethod
    def of(cls, blocks: Any, scales: Any) -> "PackedWeight | None":
        """The weight that two tensors make up; None where they are no such two."""
        shape = tuple(blocks.get_shape())
        fits = len(shape) == 4 and shape[-1] == 16 and shape[:-1] == tuple(scales.get_shape())
        return cls(blocks, scales) if fits and blocks.get_dtype() == scales.get_dtype() == "U8" else None

    def get_shape(self) -> list[int]:
        """(expert, in, out), as the weight has it that is not packed."""
        experts, out, blocks, _ = self.blocks.get_shape()
        return [experts, 32 * blocks, out]

    def get_dtype(self) -> str:
        """The type of the numbers as they are read."""
        return "BF16"

    def __getitem__(self, _: Any) -> Float[Tensor, "experts width out"]:
        """All of it, one expert after another: what is between would take four times as much memory."""
        experts, width, out = self.get_shape()
        weight = torch.empty(experts, out, width, dtype=torch.bfloat16)
        for expert in range(experts):
            weight[expert] = dequantised(self.blocks[expert], self.scales[expert])
        return weight.mT
