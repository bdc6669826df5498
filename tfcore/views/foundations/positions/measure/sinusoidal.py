"""Sinusoidal position embeddings in numbers: the table, its wavelengths, and the matrix that moves positions on."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

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
class ShiftedProducts:
    """Dot products of position vectors with those further on.

    Args:
        products: PE(p) . PE(p + offset) at offsets 0 .. length-1, from p = 0 (row 0) and from p = start (row 1).
        spread: largest difference of these products between starting points anywhere in 0 .. length-1.
    """

    products: Float[ndarray, "2 offset"]
    spread: float


def shifted_products(length: int, d_model: int, base: float, start: int) -> ShiftedProducts:
    """Compare the products of position vectors, offset by offset, between starting points."""
    offsets = torch.arange(length)
    table = sinusoidal(torch.arange(2 * length), d_model, base)
    starts = torch.linspace(0, length - 1, 8).long().tolist()
    anywhere = torch.stack([table[p : p + length] @ table[p] for p in starts])  # (start, offset)
    chosen = sinusoidal(start + offsets, d_model, base)
    products = torch.stack((anywhere[0], chosen @ chosen[0]))  # (2, offset)
    spread = (torch.cat((anywhere, products)) - anywhere[0]).abs().max()
    return ShiftedProducts(products.numpy(), float(spread))


@dataclass(frozen=True, slots=True)
class Shift:
    """The matrix M_k that moves position vectors on by k.

    Args:
        matrix: M_k.
        error: largest entry of |PE(p + k) - M_k PE(p)| over p = 0 .. length-1, in float32.
    """

    matrix: Float[ndarray, "d_model d_model"]
    error: float


def sinusoidal_shift(length: int, d_model: int, base: float, k: int) -> Shift:
    """Compare the position vectors k further on with M_k times those of a table."""
    positions = torch.arange(length)
    matrix = shift_matrix(k, d_model, base)
    moved = sinusoidal(positions, d_model, base) @ matrix.T  # row p is M_k PE(p)
    error = (sinusoidal(positions + k, d_model, base) - moved).abs().max()
    return Shift(matrix.numpy(), float(error))
