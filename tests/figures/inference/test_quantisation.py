"""Figures of quantisation: valid for plotly, small, and true to their numbers."""

import numpy as np
import pytest

from tests.small import model
from tfcore.analysis.inference.quantisation.activations import WAYS, ActivationScan
from tfcore.analysis.inference.quantisation.formats import Scheme
from tfcore.analysis.inference.quantisation.weights import MatrixErrors, row_on_grid
from tfcore.figures import theme
from tfcore.figures.inference import quantised_weights as figures

OF = model(d_model=48, d_ff=256, activation="swiglu")
ERRORS = {8: {way: np.array([0.1, 0.2]) for way in WAYS}}
SCAN = ActivationScan("down", np.array([[1.0, 9.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [2.0, 3.0]]), ERRORS, 4)
FOUND = MatrixErrors("small", Scheme(), ("q", "down"), np.array([[0.1, 0.2], [0.3, 0.05], [0.1, 0.1]]))


def row(**scheme):
    return row_on_grid(OF, "small", 0, "down", 3, Scheme(**scheme))


FIGURES = {
    "groups": lambda: figures.row_figure(row(), 0, 300),
    "the rest of a row": lambda: figures.row_figure(row(), 192, 300),
    "a fine grid": lambda: figures.row_figure(row(format="int8", per="16"), 0, 300),
    "no grid": lambda: figures.row_figure(row(format="bfloat16"), 0, 300),
    "float8": lambda: figures.row_figure(row(format="float8", per="row"), 0, 300),
    "errors": lambda: figures.errors_figure(FOUND, 200),
    "channels": lambda: figures.channels_figure(SCAN, 0, True, 200),
    "errors of activations": lambda: figures.activation_errors_figure(SCAN, 8, 1, 200),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes_and_it_is_small(name):
    figure = FIGURES[name]()
    theme.check(figure)
    assert len(figure.to_json()) < 250_000


def test_lines_lead_from_each_weight_to_what_is_stored():
    found = row()
    grid, lines, dots = figures.row_figure(found, 0, 300).data
    assert np.allclose(lines["y"][0::3], found.values[:192])
    assert np.allclose(lines["y"][1::3], found.rounded[:192])
    assert np.allclose(dots["y"], found.values[:192])
    levels = {round(float(level), 5) for level in grid["y"][::3]}
    assert levels <= {round(float(level), 5) for level in found.grid.ravel()}


def test_the_largest_error_is_framed_and_cells_carry_layer_and_kind():
    figure = figures.errors_figure(FOUND, 200)
    cells = figure.data[0]
    assert np.allclose(cells["z"], 100 * FOUND.errors.T)
    assert cells["customdata"][0][1] == "1.q"
    frame = figure.layout["shapes"][0]
    assert (frame["x0"], frame["y0"]) == (0.5, -0.5)  # layer 1, the first kind
