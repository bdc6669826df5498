"""Figures of the page on positions: what plotly accepts, small, and with fixed ranges."""

import json

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.charts.heatmaps import hundredths
from tfcore.views.foundations.positions.draw import learned as learned_charts
from tfcore.views.foundations.positions.draw import scores as score_charts
from tfcore.views.foundations.positions.draw import sinusoidal as charts
from tfcore.views.foundations.positions.measure import effects, learned, scores, sinusoidal

TABLE = sinusoidal.sinusoidal_table(128, 128, 1e4)
PRODUCTS = sinusoidal.shifted_products(128, 128, 1e4, 40)
SHIFT = sinusoidal.sinusoidal_shift(128, 128, 1e4, 5)
ROTARY = scores.rotary_scores(64, 1e4, 0.8, 4096, 6)
LINEAR = scores.linear_biases(12, 3, 32)
SHUFFLED = effects.shuffle_experiment(("a", "b", "a"), 1)
NAMES = {scheme: scheme for scheme in effects.SCHEMES}
NOISE = np.random.default_rng(0).normal(size=(2, 32, 32)).astype(np.float32)
LEARNED = learned.LearnedPositions(np.array([0, 10]), NOISE, NOISE.clip(-1, 1), abs(NOISE).clip(0, 1), np.ones(2), 0.0)

FIGURES = {
    "table": lambda: charts.table_figure(TABLE, (4, 16), height=300),
    "curves": lambda: charts.pair_curves_figure(TABLE, (4, 4), height=300),
    "wavelengths": lambda: charts.wavelengths_figure(TABLE.wavelengths, 1e4, (4, 16), height=300),
    "products": lambda: charts.products_figure(PRODUCTS, 5, 40, height=300),
    "shift": lambda: charts.shift_figure(SHIFT, height=300),
    "learned": lambda: learned_charts.learned_figure(LEARNED, 1, height=300),
    "rotary scores": lambda: score_charts.rotary_scores_figure(ROTARY, 4096, 6, height=300),
    "pairs": lambda: score_charts.rotary_pairs_figure(ROTARY, height=300),
    "slopes": lambda: score_charts.slopes_figure(LINEAR, 3, height=300),
    "bias": lambda: score_charts.bias_figure(LINEAR, height=300),
    "reach": lambda: score_charts.reach_figure(LINEAR, 3, height=300),
    "differences": lambda: score_charts.differences_figure(SHUFFLED, "none", NAMES, height=300),
    "outputs": lambda: score_charts.outputs_figure(SHUFFLED, "rope", ["a", "b", "a"], height=300),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes(name):
    theme.check(FIGURES[name]())


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_small(name):
    assert len(FIGURES[name]().to_json()) < 40_000


@pytest.mark.parametrize(("length", "d_model"), [(512, 512), (512, 256), (16, 8)])
def test_the_largest_table_still_travels_quickly(length, d_model):
    figure = charts.table_figure(sinusoidal.sinusoidal_table(length, d_model, 1e4), (0, 1), height=300)
    assert len(figure.to_json()) < 200_000
    trace = figure.to_dict()["data"][0]
    assert trace["dy"] == (2 if length * d_model > charts.CELLS else 1)


def test_hundredths_keep_two_digits():
    assert hundredths(np.array([-1, -0.004, 0.126, 1])).tolist() == [-100, 0, 13, 100]


def test_dots_lie_on_the_line():
    line, dots = json.loads(FIGURES["rotary scores"]().to_json())["data"]
    assert line["mode"] == "lines"
    assert dots["mode"] == "markers"
    assert np.abs(ROTARY.scores[0] - ROTARY.scores[1]).max() < 1e-4


def test_shuffled_words_are_labelled_in_their_new_order():
    layout = FIGURES["outputs"]().to_dict()["layout"]
    words = ["a", "b", "a"]
    assert layout["yaxis2"]["ticktext"] == [words[i] for i in SHUFFLED.permutation]
    assert layout["yaxis3"]["ticktext"] == words


def test_arrows_point_where_the_vectors_point():
    data = FIGURES["pairs"]().data
    arrows = next(trace for trace in data if trace.name == "query" and "markers" in trace.mode)
    x, y = (np.asarray(arrows[axis]).reshape(-1, 3)[:, :2] for axis in "xy")  # foot, tip, gap
    pointed = np.column_stack((x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]))
    unit = ROTARY.query / np.hypot(*ROTARY.query.T)[:, None]
    assert pointed == pytest.approx(unit, abs=1e-4)
    angle = np.radians(arrows.marker.angle.reshape(-1, 3)[:, 1])
    assert np.column_stack((np.sin(angle), np.cos(angle))) == pytest.approx(unit, abs=1e-3)
