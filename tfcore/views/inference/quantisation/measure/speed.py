"""A matrix in several data types, timed on this machine: the product with one token and with many, and its bytes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from tfcore.measures.quantisation.formats import SCALE_BITS, Scheme, quantise_matrix
from tfcore.measures.timing import milliseconds, repeated, seconds_of
from tfcore.onednn import linear

ROWS = 1536  # of the matrix: the width of the feed-forward layers of smollm2, larger than a cache of level 2
COLUMNS = 4096
TOKENS = (1, 64)  # generation reads one token at a time, a prompt is read at once
REPEATS = 9
SPENT = 0.15  # seconds for one measurement, after which no other run begins
GROUP = 32


@dataclass(frozen=True, slots=True)
class SpeedPoint:
    """One data type with one number of tokens.

    Args:
        name: of the data type and how it is computed with.
        seconds: of the quickest of `runs`.
        stored: bytes of the matrix, scales included.
        error: of the product, relative to that in float32.
    """

    name: str
    tokens: int
    seconds: float
    runs: int
    stored: int
    error: float

    @property
    def milliseconds(self) -> str:
        """The time in words."""
        return milliseconds(self.seconds)


Product = Callable[[Tensor], Tensor]


def packed(codes: Int[Tensor, "row column"]) -> UInt8[Tensor, "row half"]:
    """Two integers of four bits, -7 to 7, in every byte."""
    shifted = (codes + 8).to(torch.uint8)
    return shifted[:, ::2] | (shifted[:, 1::2] << 4)


def unpacked(content: UInt8[Tensor, "row half"]) -> Float[Tensor, "row column"]:
    """The integers of `packed`, as float32."""
    pairs = torch.stack((content & 15, content >> 4), -1)
    return pairs.flatten(1).float() - 8


def products(weight: Float[Tensor, "row column"]) -> Iterator[tuple[str, int, Product]]:
    """Name, stored bytes and product with x (token, column) of each data type.

    Integers and float8 are brought back to float32 before the product, since torch has no product for them on every
    CPU: what a program without kernels of its own pays.
    """
    rows, columns = weight.shape
    yield "float32", weight.nbytes, partial(linear, weight=weight)
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        yield name, weight.numel() * dtype.itemsize, partial(_in_type, weight.to(dtype))
    by_row = quantise_matrix(weight, Scheme(format="float8", per="row"))
    eighth, scale = by_row.codes.to(torch.float8_e4m3fn), by_row.scale.reshape(rows)
    scales = rows * SCALE_BITS // 8
    yield "float8 via float32", eighth.nbytes + scales, lambda x: linear(x, eighth.float()) * scale
    by_row = quantise_matrix(weight, Scheme(format="int8", per="row"))
    whole, of_row = by_row.codes.to(torch.int8), by_row.scale.reshape(rows)
    yield "int8 via float32", whole.nbytes + scales, lambda x: linear(x, whole.float()) * of_row
    groups = quantise_matrix(weight, Scheme(format="int4", per="32"))
    four, of_group = packed(groups.codes.to(torch.int8).reshape(rows, columns)), groups.scale.reshape(rows, -1, 1)

    def from_four(x: Tensor) -> Tensor:
        values = unpacked(four).reshape(rows, -1, GROUP) * of_group
        return linear(x, values.reshape(rows, columns))

    yield "int4 in groups of 32 via float32", four.nbytes + of_group.numel() * SCALE_BITS // 8, from_four


def _in_type(stored: Tensor, x: Float[Tensor, "token column"]) -> Float[Tensor, "token row"]:
    return (x.to(stored.dtype) @ stored.T).float()


def race(seed: int) -> Iterator[SpeedPoint | None]:
    """Every data type with every number of tokens; None between runs, where the work can be stopped."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(ROWS, COLUMNS, generator=generator) / COLUMNS**0.5
    inputs = {tokens: torch.randn(tokens, COLUMNS, generator=generator) for tokens in TOKENS}
    for name, stored, product in products(weight):
        for tokens, x in inputs.items():
            yield None
            exact, rounded = linear(x, weight), product(x)  # the first run is not counted
            error = float((rounded - exact).norm() / exact.norm())
            seconds = yield from repeated(partial(seconds_of, partial(product, x)), REPEATS, SPENT)
            yield SpeedPoint(name, tokens, min(seconds), len(seconds), stored, error)


def speed_points(seed: int) -> list[SpeedPoint]:
    """Every point of a race that is run to its end."""
    return [point for point in race(seed) if point is not None]
