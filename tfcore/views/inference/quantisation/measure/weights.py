"""Rounded weights: one row on its grid, and the error of every matrix of a model."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.precision import stored_bytes
from tfcore.measures.quantisation.formats import Scheme, bits_per_value, block_size, codes_of, quantise_matrix
from tfcore.measures.quantisation.matrices import kinds_of, matrices, matrix_of, model_bits
from tfcore.measures.statistics import relative_error
from tfcore.model import Transformer

TELLING = 6.0  # times the RMS: an outlier beside which the other weights can still be seen
SAMPLED = 64  # rows of a matrix whose errors are measured, evenly spaced


@dataclass(frozen=True, slots=True)
class RowOnGrid:
    """A row of a weight matrix and what is left of it.

    Args:
        layer, kind, row: which one.
        scheme: how the matrix is stored.
        values, rounded: before and after, (column,).
        grid: (group, level), every value that a group of this row can store; empty where it is too fine to be listed.
        group: columns that share a scale in this row.
        bits: per weight of the matrix, scales included.
    """

    layer: int
    kind: str
    row: int
    scheme: Scheme
    values: Float[ndarray, " column"]
    rounded: Float[ndarray, " column"]
    grid: Float[ndarray, "group level"]
    group: int
    bits: float

    @property
    def error(self) -> float:
        """Root mean square of the differences, over that of the weights."""
        return relative_error(self.values, self.rounded)

    @property
    def largest(self) -> float:
        """The largest difference."""
        return float(np.abs(self.values - self.rounded).max())

    @property
    def zeros(self) -> float:
        """Share of the weights that become 0 and were not."""
        return float(((self.rounded == 0) & (self.values != 0)).mean())

    @property
    def distinct(self) -> int:
        """Different values that are left."""
        return len(np.unique(self.rounded))


def outlying_row(weight: Float[Tensor, "row column"]) -> tuple[int, int]:
    """The row whose largest magnitude is nearest to TELLING times its RMS, and the column where that stands."""
    rms = weight.square().mean(1).sqrt().clamp(min=1e-12)
    row = int((weight.abs().amax(1) / rms - TELLING).abs().argmin())
    return row, int(weight[row].abs().argmax())


def outlying(model: Transformer, layer: int, kind: str) -> tuple[int, int]:
    """`outlying_row` of a matrix of a model."""
    return outlying_row(matrix_of(model, layer, kind))


def row_on_grid(model: Transformer, layer: int, kind: str, row: int, scheme: Scheme) -> RowOnGrid:
    """One row of a matrix, rounded as a scheme says, with the grid of each of its groups."""
    weight = matrix_of(model, layer, kind).float().cpu()
    rows, columns = weight.shape
    stored = quantise_matrix(weight, scheme)
    rounded = stored.values.reshape(rows, columns)[row]
    size = min(columns, block_size(scheme.per, rows, columns)) if scheme.is_scaled else columns
    grid = np.zeros((columns // size, 0), np.float32)
    if scheme.format == "float8" or scheme.is_integer:
        first = 0 if scheme.per == "matrix" else row * columns // size
        blocks = slice(first, first + columns // size)
        grid = (codes_of(scheme) * stored.scale[blocks] + stored.minimum[blocks]).numpy()
    bits = bits_per_value(scheme, rows, columns)
    return RowOnGrid(layer, kind, row, scheme, weight[row].numpy(), rounded.numpy(), grid, size, bits)


@dataclass(frozen=True, slots=True)
class MatrixErrors:
    """The relative RMS error of every matrix of a model.

    Args:
        scheme: that they are rounded by.
        kinds: of the columns.
        errors: of each layer and kind.
    """

    scheme: Scheme
    kinds: tuple[str, ...]
    errors: Float[ndarray, "layer kind"]

    @property
    def worst(self) -> tuple[int, str, float]:
        """Layer, kind and error of the matrix with the largest error."""
        layer, kind = np.unravel_index(int(self.errors.argmax()), self.errors.shape)
        return int(layer), self.kinds[kind], float(self.errors[layer, kind])

    @property
    def best(self) -> tuple[int, str, float]:
        layer, kind = np.unravel_index(int(self.errors.argmin()), self.errors.shape)
        return int(layer), self.kinds[kind], float(self.errors[layer, kind])


def matrix_errors(model: Transformer, scheme: Scheme) -> MatrixErrors:
    """The error of SAMPLED rows of each matrix.

    With one scale for a matrix, the rows with its largest and smallest value are rounded along with them, so that the
    scale is that of the whole matrix.
    """
    kinds = kinds_of(model.config)
    errors = np.zeros((model.config.n_layers, len(kinds)))
    for one in matrices(model):
        weight = one.weight.detach().float().cpu()
        sample = weight[:: -(-len(weight) // SAMPLED)]
        rows = sample
        if scheme.per == "matrix":
            ends = [int(weight.argmax()) // weight.shape[1], int(weight.argmin()) // weight.shape[1]]
            rows = torch.cat((sample, weight[ends]))
        after = quantise_matrix(rows, scheme).values.reshape(rows.shape)[: len(sample)]
        errors[one.layer, kinds.index(one.kind)] = relative_error(sample.numpy(), after.numpy())
    return MatrixErrors(scheme, kinds, errors)


@dataclass(frozen=True, slots=True)
class MatrixMemory:
    """Bytes of the matrices of a model's blocks.

    Args:
        weights: how many there are.
        bits: of one, scales included, on average.
    """

    weights: int
    bits: float

    @property
    def plain(self) -> int:
        """Bytes in float32."""
        return stored_bytes(self.weights, "float32")

    @property
    def stored(self) -> float:
        """Bytes in this scheme."""
        return self.weights * self.bits / 8


def matrix_memory(model: Transformer, scheme: Scheme) -> MatrixMemory:
    """Count the weights of all matrices and their bits."""
    sizes = [one.shape for one in matrices(model)]
    return MatrixMemory(sum(rows * columns for rows, columns in sizes), model_bits(model, scheme))


def shape_of(model: Transformer, layer: int, kind: str) -> tuple[int, int]:
    """Rows and columns of a matrix."""
    rows, columns = matrix_of(model, layer, kind).shape
    return rows, columns


def shared_width(model: Transformer) -> int:
    """The largest number that divides the rows of every matrix: groups that divide it fit all of them."""
    return math.gcd(*(one.shape[1] for one in matrices(model)))
