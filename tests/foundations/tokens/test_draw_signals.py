"""Pictures of things cut into tokens: valid for plotly, complete, and true to the numbers behind them."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.measures.flop_count import sequence_cost
from tfcore.views.foundations.tokens.draw import signals as figures
from tfcore.views.foundations.tokens.measure import signal_tokens, signals
from tfcore.views.foundations.tokens.measure.protein import ResidueCounts


@pytest.mark.parametrize(("side", "patch", "at"), [(224, 16, 77), (224, 48, 15), (64, 64, 0), (448, 4, 12_543)])
def test_picture_and_its_frame(side, patch, at):
    figure = figures.picture_figure(signals.data_address(signals.scene(64)), side, patch, at, 400)
    theme.check(figure)
    layout = figure.to_dict()["layout"]
    frame = layout["shapes"][-1]
    top, left = divmod(at, side // patch)
    assert (frame["x0"], frame["y0"]) == (left * patch - 0.5, top * patch - 0.5)
    assert len(layout["shapes"]) == (3 if side % patch else 1)


def test_strip():
    address = signals.data_address(np.zeros((4, 4, 3), np.uint8), "PNG")
    theme.check(figures.strip_figure([address] * 5, 10, 12, 150))


@pytest.mark.parametrize(("window", "hop", "at"), [(25.0, 10.0, 30), (5.0, 30.0, 0), (60.0, 2.5, 239)])
def test_sound(window, hop, at):
    found = signal_tokens.cut_frames(signals.melody("notes", 0.6), window, hop)
    at = min(at, found.frames - 1)
    theme.check(figures.frames_figure(found.samples, found.window, found.hop, at, 240))
    theme.check(figures.spectrogram_figure(found, at, 300))


def test_a_long_spectrogram_travels_in_few_columns():
    found = signal_tokens.cut_frames(signals.melody("sweep", 10.0), 25.0, 10.0)
    trace = figures.spectrogram_figure(found, 0, 300).data[0]
    assert trace.z.dtype == np.uint8
    assert trace.z.shape == (80, 500)
    assert trace.dx == 2
    assert trace.z.max() == 255


@pytest.mark.parametrize(("length", "stride"), [(16, 8), (1, 1), (64, 64), (3, 40)])
def test_series(length, stride):
    found = signal_tokens.cut_windows(signals.temperatures(200), length, stride)
    at = len(found.starts) - 1
    theme.check(figures.series_figure(found, at, 300))
    theme.check(figures.windows_figure(found, at, 300))


def test_a_flat_series():
    theme.check(figures.series_figure(signal_tokens.cut_windows(np.ones(4), 2, 2), 0, 300))


def test_cost_marks_the_chosen_length():
    cost = sequence_cost([4, 16, 64])
    figure = figures.cost_figure([8, 4, 2], cost, 1, "side", 300)
    theme.check(figure)
    assert list(figure.data[2].y) == [cost.linear[1], cost.squared[1]]


def test_composition():
    figure = figures.composition_figure(ResidueCounts(("L", "K"), (3, 1), (0, 2), "L"), 300)
    theme.check(figure)
    assert [trace.name for trace in figure.data] == ["water-avoiding", "positive"]
