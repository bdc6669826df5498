"""Figures of quantisation: valid for plotly, small, and true to their numbers."""

import numpy as np
import pytest

from tests.small import model
from tfcore.charts import theme
from tfcore.charts.tokens import LINE
from tfcore.measures.quantisation.formats import Scheme
from tfcore.measures.quantisation.rounded_cache import CacheScheme
from tfcore.views.inference.quantisation.draw import cache_rounding as quantised_cache
from tfcore.views.inference.quantisation.draw import losses
from tfcore.views.inference.quantisation.draw import weights as figures
from tfcore.views.inference.quantisation.measure.activations import WAYS, ActivationScan
from tfcore.views.inference.quantisation.measure.cache_rounding import CacheEffect
from tfcore.views.inference.quantisation.measure.gguf_block import block_of_weights
from tfcore.views.inference.quantisation.measure.losses import LossPoint, LossTable
from tfcore.views.inference.quantisation.measure.speed import SpeedPoint
from tfcore.views.inference.quantisation.measure.weights import MatrixErrors, row_on_grid

OF = model(d_model=48, d_ff=256, activation="swiglu")
ERRORS = {8: {way: np.array([0.1, 0.2]) for way in WAYS}}
SCAN = ActivationScan("down", np.array([[1.0, 9.0], [2.0, 3.0]]), np.array([[1.0, 2.0], [2.0, 3.0]]), ERRORS, 4)
FOUND = MatrixErrors(Scheme(), ("q", "down"), np.array([[0.1, 0.2], [0.3, 0.05], [0.1, 0.1]]))
POINTS = tuple(LossPoint(f"int{bits}", "row", bits + 0.1, 2 + 30 / bits**2) for bits in (8, 4, 2))
TABLE = LossTable("small", "weights", 2.0, "stories", 90, (*POINTS, LossPoint("bfloat16", "none", 16.0, 2.0)))
BLOCK = block_of_weights(OF, "small", 0, "down", 3, 1)
KEYS = np.linspace(-3, 9, 20).reshape(4, 5).astype(np.float32)
MAPS = [np.tri(4, dtype=np.float32) / np.arange(1, 5, dtype=np.float32)[:, None], np.eye(4, dtype=np.float32)]
EFFECT = CacheEffect(0, 1, CacheScheme(), KEYS, KEYS, MAPS[0], MAPS[1], 0.1, 0.2, 0.3)
SPEEDS = [SpeedPoint("float32", 1, 0.002, 5, 400, 0.0), SpeedPoint("int8 via float32", 64, 0.008, 5, 100, 0.01)]


def row(**scheme):
    return row_on_grid(OF, 0, "down", 3, Scheme(**scheme))


FIGURES = {
    "groups": lambda: figures.row_figure(row(), 0, 300),
    "the rest of a row": lambda: figures.row_figure(row(), 192, 300),
    "a fine grid": lambda: figures.row_figure(row(format="int8", per="16"), 0, 300),
    "no grid": lambda: figures.row_figure(row(format="bfloat16"), 0, 300),
    "float8": lambda: figures.row_figure(row(format="float8", per="row"), 0, 300),
    "errors": lambda: figures.errors_figure(FOUND, 200),
    "channels": lambda: figures.channels_figure(SCAN, 0, True, 200),
    "losses": lambda: losses.losses_figure(TABLE, "int4", 300),
    "speeds": lambda: losses.speeds_figure(SPEEDS, 300),
    "no speed yet": lambda: losses.speeds_figure([], 300),
    "block": lambda: figures.block_figure(BLOCK, 300),
    "keys": lambda: quantised_cache.channels_map(EFFECT, list("abcd"), "keys", 300),
    "maps": lambda: quantised_cache.moved_figure(EFFECT, list("abcd"), 300),
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


def test_losses_above_the_edge_are_drawn_at_it_and_said_in_full():
    way, floats = losses.losses_figure(TABLE, "int4", 300).data
    assert list(way["y"]) == [8.0, 2 + 30 / 16, 2 + 30 / 64]
    assert way["customdata"][0][1] == 9.5
    assert list(way["marker"]["size"]) == [7, 13, 7]
    assert list(floats["x"]) == [16.0]


def test_a_block_has_its_integers_on_its_levels():
    levels, used, codes = figures.block_figure(BLOCK, 300).data
    assert list(codes["text"]) == [str(code) for code in BLOCK.codes.tolist()]
    assert np.allclose(codes["y"], BLOCK.values)
    assert np.allclose(used["y"], BLOCK.used)
    assert len(levels["y"]) == 3 * 16


def test_the_map_of_changes_is_after_less_before():
    figure = quantised_cache.moved_figure(EFFECT, list("abcd"), 300)
    drawn = figure.data[1]["z"]
    assert drawn[3, 0] == -0.25
    assert drawn[3, 3] == 0.75
    assert np.isnan(drawn[0, 3])


def test_a_map_of_channels_writes_as_many_tokens_as_fit_and_names_all_under_the_pointer():
    names = [f"token {i}" for i in range(48)]
    layout = quantised_cache.channels_map(EFFECT, names, "keys", 300).to_dict()["layout"]
    assert len(layout["yaxis"]["ticktext"]) == 48
    assert layout["yaxis"]["showticklabels"] is False
    written = layout["yaxis2"]["ticktext"]
    assert len(written) * LINE <= 300
    assert set(written) < set(names)
