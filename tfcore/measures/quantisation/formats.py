"""Data types with few bits: the grid of each, and rounding to the nearest value on it.

An integer type needs a scale for every block of values: x is stored as the integer round(x / scale), or, with a
minimum, as round((x - minimum) / scale). Scales and minimums are stored in float16.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Format = Literal["float32", "bfloat16", "float16", "float8", "int8", "int6", "int5", "int4", "int3", "int2"]
Per = Literal["matrix", "row", "64", "32", "16"]  # what shares one scale; a number: so many neighbours in a row

BITS: dict[Format, int] = {
    "float32": 32,
    "bfloat16": 16,
    "float16": 16,
    "float8": 8,
    "int8": 8,
    "int6": 6,
    "int5": 5,
    "int4": 4,
    "int3": 3,
    "int2": 2,
}
UNSCALED: dict[Format, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
FLOAT8 = torch.float8_e4m3fn  # four bits of exponent, three of mantissa (arXiv:2209.05433, section 3)
FLOAT8_MAX = 448.0  # its largest value, arXiv:2209.05433, table 1
SCALE_BITS = 16  # of a scale, and of a minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How a matrix is stored.

    Args:
        format: of its values.
        per: what shares one scale.
        minimum: integers count from the least value of a block, which is stored too (asymmetric); otherwise zero is
            on the grid and in its middle (symmetric, absmax).
    """

    format: Format = "int4"
    per: Per = "32"
    minimum: bool = False

    def __post_init__(self) -> None:
        if self.minimum and not self.is_integer:
            raise ValueError(f"format={self.format!r} has no minimum; minimum=True goes with int2 to int8")

    @property
    def bits(self) -> int:
        return BITS[self.format]

    @property
    def is_integer(self) -> bool:
        return self.format.startswith("int")

    @property
    def is_scaled(self) -> bool:
        """Whether scales are stored."""
        return self.format not in UNSCALED

    def __str__(self) -> str:
        """int4, groups of 32, with minimum."""
        if not self.is_scaled:
            return self.format
        per = f"one scale per {self.per}" if self.per in ("matrix", "row") else f"groups of {self.per}"
        return f"{self.format}, {per}{', with minimum' if self.minimum else ''}"


@dataclass(frozen=True, slots=True)
class Quantised:
    """Blocks of values as integers (or values of float8), with their scales.

    Args:
        codes: what is stored, as float32.
        scale: one a block; 0 where all values of a block are equal.
        minimum: one a block; 0 where the scheme has none.
    """

    codes: Float[Tensor, "block size"]
    scale: Float[Tensor, "block 1"]
    minimum: Float[Tensor, "block 1"]

    @property
    def values(self) -> Float[Tensor, "block size"]:
        """codes * scale + minimum: what a model computes with (dequantised)."""
        return self.codes * self.scale + self.minimum


def block_size(per: Per, rows: int, columns: int) -> int:
    """Values that share a scale in a matrix of this shape.

    Raises:
        ValueError: groups that do not divide a row.
    """
    if per in ("matrix", "row"):
        return rows * columns if per == "matrix" else columns
    if columns % int(per):
        raise ValueError(f"rows of {columns} values cannot be cut into groups of {per}; take per='row'")
    return int(per)


def bits_per_value(scheme: Scheme, rows: int, columns: int) -> float:
    """Bits of one value, and its share of the scale (and minimum) of its block."""
    if not scheme.is_scaled:
        return float(scheme.bits)
    stored = SCALE_BITS * (2 if scheme.minimum else 1)
    return scheme.bits + stored / block_size(scheme.per, rows, columns)


def quantise_absmax(x: Float[Tensor, "block size"], bits: int) -> Quantised:
    """Symmetric rounding to nearest: scale = max |x| / (2^(bits-1) - 1), codes = round(x / scale).

    Source: arXiv:2208.07339, section 2 (absmax quantization). The code -2^(bits-1) is left unused, so that the grid is
    symmetric.
    """
    largest = 2 ** (bits - 1) - 1
    scale = x.abs().amax(1, keepdim=True) / largest
    codes = (x / _no_zero(scale)).round().clamp(-largest, largest)
    return Quantised(codes, _stored(scale), torch.zeros_like(scale))


def quantise_minmax(x: Float[Tensor, "block size"], bits: int) -> Quantised:
    """Asymmetric rounding to nearest: scale = (max - min) / (2^bits - 1), codes = round((x - min) / scale).

    With 4 bits and blocks of 32 this is Q4_1 of a GGUF file.
    """
    most = 2**bits - 1
    least = x.amin(1, keepdim=True)
    scale = (x.amax(1, keepdim=True) - least) / most
    codes = ((x - least) / _no_zero(scale)).round().clamp(max=most)
    return Quantised(codes, _stored(scale), _stored(least))


def quantise_float8(x: Float[Tensor, "block size"]) -> Quantised:
    """Scaled so that the largest of a block is the largest of float8 (e4m3), then rounded by torch."""
    scale = x.abs().amax(1, keepdim=True) / FLOAT8_MAX
    codes = (x / _no_zero(scale)).clamp(-FLOAT8_MAX, FLOAT8_MAX).to(FLOAT8).to(x.dtype)
    return Quantised(codes, _stored(scale), torch.zeros_like(scale))


def quantise_blocks(x: Float[Tensor, "block size"], scheme: Scheme) -> Quantised:
    """Blocks of values by a scheme; each row of x is one block."""
    if not scheme.is_scaled:
        one = torch.ones_like(x[:, :1])
        return Quantised(x.to(UNSCALED[scheme.format]).to(x.dtype), one, torch.zeros_like(one))
    if scheme.format == "float8":
        return quantise_float8(x)
    return quantise_minmax(x, scheme.bits) if scheme.minimum else quantise_absmax(x, scheme.bits)


def quantise_matrix(weight: Float[Tensor, "row column"], scheme: Scheme) -> Quantised:
    """A matrix cut into the blocks that share a scale, and rounded."""
    size = block_size(scheme.per, *weight.shape) if scheme.is_scaled else weight.shape[1]
    return quantise_blocks(weight.reshape(-1, size), scheme)


def rounded(weight: Float[Tensor, "row column"], scheme: Scheme) -> Float[Tensor, "row column"]:
    """The values that are left of a matrix (quantised and dequantised)."""
    return quantise_matrix(weight, scheme).values.reshape(weight.shape)


def codes_of(scheme: Scheme) -> Float[Tensor, " level"]:
    """Every code that a scheme can store, in order; the grid of a block is these times its scale, plus its minimum.

    Raises:
        ValueError: a format whose grid is too fine to be listed.
    """
    if scheme.format == "float8":
        every = torch.arange(256, dtype=torch.uint8).view(FLOAT8).float()
        return every[every.isfinite()].unique()
    if not scheme.is_integer:
        raise ValueError(f"the grid of {scheme.format} is too fine to be listed; take float8 or an integer format")
    if scheme.minimum:
        return torch.arange(2**scheme.bits).float()
    largest = 2 ** (scheme.bits - 1) - 1
    return torch.arange(-largest, largest + 1).float()


def _no_zero(scale: Tensor) -> Tensor:
    """Scales to divide by: a block of equal values has scale 0, and its codes are 0."""
    return torch.where(scale > 0, scale, 1.0)


def _stored(scale: Tensor) -> Tensor:
    """As float16 holds it."""
    return scale.half().to(scale.dtype)
