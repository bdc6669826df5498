"""Pictures of neurons: valid for plotly, one mark a token, clicks that name the neuron."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.charts.promoted import PROMOTED, SUPPRESSED, promoted_figure
from tfcore.views.block.feedforward.draw import neurons as figures
from tfcore.views.block.feedforward.measure.neurons import ActiveNeuron
from tfcore.views.block.feedforward.measure.shares import WritingNeuron

LABELS = [f"t{i}" for i in range(40)]


@pytest.mark.parametrize("followed", ["t1", "nothing", None])
def test_promoted_tokens_keep_their_order_and_the_next_one_is_marked(followed):
    figure = promoted_figure(LABELS[:4], [2.0, 1.0, -0.5, -3.0], followed, 300)
    theme.check(figure)
    assert list(figure.data[0].x) == [2.0, 1.0, -0.5, -3.0]
    assert ["◂" in name for name in figure.layout.yaxis.ticktext] == [followed == label for label in LABELS[:4]]


@pytest.mark.parametrize("record", [5.0, -5.0])
@pytest.mark.parametrize("n", [1, 40])
def test_bars_that_go_the_neurons_way_are_coloured(record, n):
    values = np.linspace(-1, 1, n, dtype=np.float32) if n > 1 else np.ones(1, dtype=np.float32)
    figure = figures.activations_figure(values, LABELS[:n], 0, record, 300)
    theme.check(figure)
    colours = figure.data[0].marker.color
    assert [colour == PROMOTED for colour in colours] == [bool(v * record > 0) for v in values]
    low, high = figure.layout.yaxis.range
    assert low <= min(0, record, values.min())
    assert high >= max(0, record, values.max())


def test_a_click_names_layer_neuron_and_side():
    found = [ActiveNeuron(1, 7, 0, 1.2, 3.0), ActiveNeuron(0, 2, 1, 0.5, -1.0)]
    figure = figures.active_figure(found, ["a b", "c d"], (0, 2, 1), 300)
    theme.check(figure)
    assert [list(mark) for mark in figure.data[0].customdata] == [[1, 7, 0], [0, 2, 1]]
    assert figure.layout.xaxis.range[1] >= 1.2
    theme.check(figures.active_figure([], [], (0, 0, 0), 300))


def test_shares_of_either_sign_lead_to_their_neurons_and_leave_room_for_words():
    found = [WritingNeuron(1, 7, 0.5, ()), WritingNeuron(0, 2, -1.25, ())]
    figure = figures.shares_figure(found, ["a b", "c d"], (0, 2), 300)
    theme.check(figure)
    bars = figure.data[0]
    assert [list(mark) for mark in bars.customdata] == [[1, 7], [0, 2]]
    assert list(bars.marker.color) == [PROMOTED, SUPPRESSED]
    assert list(bars.marker.opacity) == [0.6, 1.0]
    low, high = figure.layout.xaxis.range
    assert low == -high < -1.25
    assert [(note.text, note.xanchor) for note in figure.layout.annotations] == [(" a b ", "right"), (" c d ", "left")]
    theme.check(figures.shares_figure([], [], (0, 0), 300))


def test_without_a_record_no_line_is_drawn():
    figure = figures.activations_figure(np.array([1.0, -3.0], np.float32), LABELS[:2], 1, None, 300)
    theme.check(figure)
    assert not figure.layout.shapes
    assert list(figure.data[0].marker.color) == [SUPPRESSED, PROMOTED]  # as the chosen token goes
    low, high = figure.layout.yaxis.range
    assert low < -3 < 1 < high
    theme.check(figures.activations_figure(np.zeros(1, np.float32), LABELS[:1], 0, None, 300))
