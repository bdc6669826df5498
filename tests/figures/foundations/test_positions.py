"""Figures of the page on positions: what plotly accepts, small, and with fixed ranges."""

import json

import numpy as np
import pytest

from tfcore.analysis.foundations import learned_positions, position_effects, rope_and_alibi, sinusoidal_positions
from tfcore.figures import theme
from tfcore.figures.foundations import learned_positions as learned_figures
from tfcore.figures.foundations import position_scores, positions

TABLE = sinusoidal_positions.sinusoidal_table(128, 128, 1e4)
SHIFT = sinusoidal_positions.sinusoidal_shift(128, 128, 1e4, 5, 40)
ROTARY = rope_and_alibi.rotary_scores(64, 1e4, 0.8, 4096, 6)
LINEAR = rope_and_alibi.linear_biases(12, 3, 32)
SHUFFLED = position_effects.shuffle_experiment(("a", "b", "a"), 1)
NAMES = {scheme: scheme for scheme in position_effects.SCHEMES}
NOISE = np.random.default_rng(0).normal(size=(2, 32, 32)).astype(np.float32)
LEARNED = learned_positions.LearnedPositions(
    np.array([0, 10]), NOISE, NOISE.clip(-1, 1), abs(NOISE).clip(0, 1), np.ones(2), 0.0
)

FIGURES = {
    "table": lambda: positions.table_figure(TABLE, (4, 16)),
    "curves": lambda: positions.pair_curves_figure(TABLE, (4, 4)),
    "wavelengths": lambda: positions.wavelengths_figure(TABLE.wavelengths, 1e4, (4, 16)),
    "products": lambda: positions.products_figure(SHIFT, 5, 40),
    "shift": lambda: positions.shift_figure(SHIFT),
    "learned": lambda: learned_figures.learned_figure(LEARNED, 1),
    "rotary scores": lambda: position_scores.rotary_scores_figure(ROTARY, 4096, 6),
    "pairs": lambda: position_scores.rotary_pairs_figure(ROTARY),
    "slopes": lambda: position_scores.slopes_figure(LINEAR, 3),
    "bias": lambda: position_scores.bias_figure(LINEAR),
    "reach": lambda: position_scores.reach_figure(LINEAR, 3),
    "differences": lambda: position_scores.differences_figure(SHUFFLED, "none", NAMES),
    "outputs": lambda: position_scores.outputs_figure(SHUFFLED, "rope", ["a", "b", "a"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes(name):
    theme.check(FIGURES[name]())


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_small(name):
    assert len(FIGURES[name]().to_json()) < 40_000


@pytest.mark.parametrize(("length", "d_model"), [(512, 512), (512, 256), (16, 8)])
def test_the_largest_table_still_travels_quickly(length, d_model):
    figure = positions.table_figure(sinusoidal_positions.sinusoidal_table(length, d_model, 1e4), (0, 1))
    assert len(figure.to_json()) < 200_000
    trace = figure.to_dict()["data"][0]
    assert trace["dy"] == (2 if length * d_model > positions.CELLS else 1)


def test_hundredths_keep_two_digits():
    assert positions.hundredths(np.array([-1, -0.004, 0.126, 1])).tolist() == [-100, 0, 13, 100]


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
