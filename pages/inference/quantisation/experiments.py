"""The experiments of the page on quantisation."""

from tfcore.analysis.inference.quantisation.activations import ActivationScan, outliers_of, rounding_errors
from tfcore.analysis.inference.quantisation.weights import MatrixErrors, RowOnGrid
from tfcore.figures.inference.quantised_weights import (
    activation_errors_figure,
    channels_figure,
    errors_figure,
    row_figure,
)
from tfcore.figures.shown import Shown


def row(found: RowOnGrid, first: int) -> Shown:
    """A row of a weight matrix, and the grid that each group of its weights is rounded to."""
    return Shown(row_figure(found, first, height=340), (found,))


def by_layer(found: MatrixErrors) -> Shown:
    """The rounding error of every matrix of a model."""
    return Shown(errors_figure(found, height=120 + 30 * len(found.kinds)), (found,))


def channels(model_name: str, scan: ActivationScan, layer: int, first: bool) -> Shown:
    """The channels of one layer's activations, some of which are far larger than the others."""
    return Shown(channels_figure(scan, layer, first, height=280), (outliers_of(model_name, scan, layer, first),))


def activation_errors(scan: ActivationScan, bits: int, layer: int) -> Shown:
    """Activations rounded with one scale for all tokens or one for each, with and without the outlier channels."""
    return Shown(activation_errors_figure(scan, bits, layer, height=320), (rounding_errors(scan, layer, bits),))
