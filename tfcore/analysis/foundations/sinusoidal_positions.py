"""Sinusoidal position embeddings in numbers: the table, its wavelengths, and the matrix that moves positions on."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.positions import inverse_frequencies, shift_matrix, sinusoidal


@dataclass(frozen=True, slots=True)
class SinusoidalTable:
    """The position vectors of positions 0 .. length-1.

    Args:
        table: one position vector a row.
        wavelengths: positions until pair i of dimensions (2i, 2i+1) repeats, 2 pi base^(2i/d).
    """

    table: Float[ndarray, "seq d_model"]
    wavelengths: Float[ndarray, " pair"]


def sinusoidal_table(length: int, d_model: int, base: float) -> SinusoidalTable:
    """PE(p, 2i) = sin(p / base^(2i/d)), PE(p, 2i+1) = cos(p / base^(2i/d)) (arXiv:1706.03762, section 3.5)."""
    table = sinusoidal(torch.arange(length), d_model, base)
    return SinusoidalTable(table.numpy(), wavelengths(d_model, base))


def wavelengths(d: int, base: float) -> Float[ndarray, " pair"]:
    """Positions per full turn of each pair of dimensions, 2 pi base^(2i/d), i = 0 .. d/2-1."""
    return (2 * math.pi / inverse_frequencies(d, base)).numpy()


@dataclass(frozen=True, slots=True)
class TablePeriods(Finding):
    """How often the first and the last pair of dimensions of a table repeat, in positions."""

    length: int
    d_model: int
    shortest: float
    longest: float

    @property
    def sentence(self) -> str:
        return (
            f"Position vectors of {self.length} positions by {self.d_model} dimensions: stripes that get wider from "
            f"left to right, one period every {self.shortest:.1f} positions at the left end and every "
            f"{self.longest:,.0f} at the right."
        )


def table_periods(table: SinusoidalTable) -> TablePeriods:
    """The periods at both ends of a table."""
    length, d_model = table.table.shape
    return TablePeriods(length, d_model, float(table.wavelengths[0]), float(table.wavelengths[-1]))


@dataclass(frozen=True, slots=True)
class PairPeriods(Finding):
    """After how many positions two pairs of dimensions repeat."""

    pairs: tuple[int, int]
    periods: tuple[float, float]

    @property
    def sentence(self) -> str:
        (first, second), (one, other) = self.pairs, self.periods
        return f"Pair {first} repeats after {one:,.1f} positions, pair {second} after {other:,.1f}."


def pair_periods(table: SinusoidalTable, pairs: tuple[int, int]) -> PairPeriods:
    """The wavelengths of two pairs of dimensions."""
    first, second = pairs
    return PairPeriods(pairs, (float(table.wavelengths[first]), float(table.wavelengths[second])))


@dataclass(frozen=True, slots=True)
class WavelengthRange(Finding):
    """All wavelengths of `width` dimensions.

    Args:
        pairs: how many there are.
        width: dimensions, two for each pair.
        first, last: the shortest and the longest, in positions.
        limit: 2 pi base, which the last one comes close to.
    """

    pairs: int
    width: int
    first: float
    last: float
    limit: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.pairs} wavelengths, 2π · b^(2i/{self.width}): from {self.first:.2f} to {self.last:,.0f} positions."
        )

    @property
    def against_limit(self) -> str:
        """How close the last one comes to the limit."""
        return f"the last wavelength is 2π · b^(1 − 2/d), here {self.last:,.0f} of {self.limit:,.0f}."


def wavelength_range(waves: Float[ndarray, " pair"], base: float) -> WavelengthRange:
    """Both ends of the wavelengths."""
    return WavelengthRange(len(waves), 2 * len(waves), float(waves[0]), float(waves[-1]), 2 * math.pi * base)


@dataclass(frozen=True, slots=True)
class Shift:
    """How position vectors relate to those k further on.

    Args:
        offsets: 0 .. length-1.
        products: PE(p) . PE(p + offset) from p = 0 (row 0) and from p = start (row 1).
        spread: largest difference of these products between starting points anywhere in 0 .. length-1.
        matrix: M_k.
        error: largest entry of |PE(p + k) - M_k PE(p)| over p = 0 .. length-1, in float32.
    """

    offsets: Int[ndarray, " offset"]
    products: Float[ndarray, "2 offset"]
    spread: float
    matrix: Float[ndarray, "d_model d_model"]
    error: float


def sinusoidal_shift(length: int, d_model: int, base: float, k: int, start: int) -> Shift:
    """Compare the position vectors of a table with their shifted copies, and with M_k times them."""
    offsets = torch.arange(length)
    table = sinusoidal(torch.arange(2 * length), d_model, base)
    starts = torch.linspace(0, length - 1, 8).long().tolist()
    anywhere = torch.stack([table[p : p + length] @ table[p] for p in starts])  # (start, offset)
    chosen = sinusoidal(start + offsets, d_model, base)
    products = torch.stack((anywhere[0], chosen @ chosen[0]))  # (2, offset)
    spread = (torch.cat((anywhere, products)) - anywhere[0]).abs().max()
    matrix = shift_matrix(k, d_model, base)
    moved = table[:length] @ matrix.T  # row p is M_k PE(p)
    error = (sinusoidal(offsets + k, d_model, base) - moved).abs().max()
    return Shift(offsets.numpy(), products.numpy(), float(spread), matrix.numpy(), float(error))


@dataclass(frozen=True, slots=True)
class ShiftProducts(Finding):
    """Dot products of position vectors, k apart.

    Args:
        k: the offset.
        start: the other starting point.
        at_zero, at_k: the product of a vector with itself, and with the one k further on; None beyond the table.
        spread: largest difference between starting points.
    """

    k: int
    start: int
    at_zero: float
    at_k: float | None
    spread: float

    @property
    def spread_text(self) -> str:
        return f"{self.spread:.1e}"

    @property
    def sentence(self) -> str:
        at_k = "" if self.at_k is None else f", {self.at_k:.1f} at k = {self.k}"
        return (
            f"PE(p) · PE(p + k) is {self.at_zero:.0f} = d/2 at k = 0{at_k}; the same from p = 0 and from "
            f"p = {self.start}, to within {self.spread_text}."
        )


def shift_products(shift: Shift, k: int, start: int) -> ShiftProducts:
    """The products at offset 0 and at k."""
    products = shift.products[0]
    return ShiftProducts(k, start, float(products[0]), float(products[k]) if k < len(products) else None, shift.spread)


@dataclass(frozen=True, slots=True)
class ShiftError(Finding):
    """The largest error of M_k over the positions of a table."""

    k: int
    length: int
    error: float

    @property
    def error_text(self) -> str:
        return f"{self.error:.1e}"

    @property
    def sentence(self) -> str:
        return (
            f"The matrix that moves position vectors on by {self.k}: 2 by 2 rotations on the diagonal, zero elsewhere; "
            f"its largest error over {self.length} positions is {self.error_text}."
        )


def shift_error(shift: Shift, k: int) -> ShiftError:
    """How well M_k moves position vectors on."""
    return ShiftError(k, len(shift.offsets), shift.error)
