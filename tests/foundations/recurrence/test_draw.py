"""Figures of recurrence: every curve there is, and valid in both themes."""

import numpy as np

from tfcore.charts import alike, theme
from tfcore.training.alike import Comparison, ComparisonEvaluation, Repeats
from tfcore.training.recurrent import alignment
from tfcore.training.recurrent.comparison import ComparisonConfig
from tfcore.training.recurrent.gradients import Arriving
from tfcore.training.recurrent.passes import PassConfig, Passes, TimedPass
from tfcore.training.recurrent.real_model import RealGradient
from tfcore.views.foundations.recurrence import draw


def test_gradients_have_their_products_over_them():
    curve = np.geomspace(1, 1e-9, 40)
    found = (
        Arriving("rnn", curve, curve, largest=1.0),
        Arriving("lstm", curve, curve, cell=curve / 2),
        Arriving("transformer", curve),
    )
    figure = draw.gradient_figure(found, RealGradient("real", 30, 2, curve[:5] * 3), 420)
    theme.check(figure)
    names = [trace.name for trace in figure.data]
    assert names == [
        "real",
        "RNN",
        "RNN, product of Jacobians",
        "LSTM",
        "LSTM, product of Jacobians",
        "LSTM, cell state alone",
        "Transformer",
    ]
    assert np.allclose(figure.data[0].y, curve[:5] * 3)
    assert np.allclose(figure.data[1].y, curve)
    assert np.allclose(figure.data[2].y, curve[:: int(figure.data[2].x[1])])
    assert np.allclose(figure.data[5].y, curve / 2)


def look(step):
    return ComparisonEvaluation(
        step=step,
        seconds=(1.0 * step, 2.0 * step, 3.0 * step),
        loss=(3.0, 2.0, 1.0),
        held_out=(3.0, 2.0, 1.0 / step),
        accuracy=(0.1, 0.2, 0.3),
        by_place=((0.1, 0.2), (0.3, 0.4), (0.5, 0.6)),
    )


FOUND = Comparison(ComparisonConfig(steps=20), (look(1), look(10)), (1, 2))


def test_the_course_is_drawn_against_steps_or_seconds():
    steps, seconds = (alike.course_figure(FOUND, against, draw.STYLES, 300) for against in ("steps", "seconds"))
    for figure in (steps, seconds):
        theme.check(figure)
    assert list(steps.data[4].x) == [1, 10]
    assert list(seconds.data[4].x) == [3.0, 30.0]
    assert np.allclose(steps.data[4].y, [1.0, 0.1])
    assert list(steps.layout.xaxis.range) == [0, 20]
    assert seconds.layout.xaxis.range[1] == 30.0


def test_places_have_a_curve_for_each_network():
    figure = alike.place_figure(FOUND, None, draw.STYLES, "letter", 300)
    theme.check(figure)
    assert figure.data[0].error_y.array is None
    assert [list(trace.y) for trace in figure.data] == [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    assert list(figure.layout.xaxis.tickvals) == [1, 2]


def test_bars_reach_from_the_lowest_to_the_highest_of_all_seeds():
    shown, other = FOUND.last.by_place, ((0.0, 0.2), (0.5, 0.3), (0.5, 1.0))
    figure = alike.place_figure(FOUND, Repeats((0, 1), ((), ()), (shown, other)), draw.STYLES, "letter", 300)
    theme.check(figure)
    ends = [(trace.y - trace.error_y.arrayminus, trace.y + trace.error_y.array) for trace in figure.data]
    assert np.allclose([low for low, _ in ends], np.minimum(shown, other))
    assert np.allclose([high for _, high in ends], np.maximum(shown, other))


def test_passes_may_be_few_or_none():
    theme.check(draw.passes_figure(Passes(PassConfig(), (), "here"), 300))
    points = (TimedPass(16, "rnn", 0.002), TimedPass(16, "lstm", 20.0), TimedPass(16, "transformer", 0.00001))
    figure = draw.passes_figure(Passes(PassConfig(), points, "here"), 300)
    theme.check(figure)
    assert [list(trace.y) for trace in figure.data] == [[2.0], [20_000.0], [0.01]]
    low, high = figure.layout.yaxis.range
    assert low < -2 < 4.3 < high


def test_an_alignment_and_its_lengths():
    shares = tuple(n / 100 for n in alignment.LENGTHS)
    side = alignment.Side(loss=1.0, by_length=shares, seconds=1.0)
    weights = np.array([[0.2, 0.8], [1.0, 0.0]])
    look = alignment.AlignmentEvaluation(
        step=1, plain=side, attending=side, read=(0, 1), wrote=(1, 25), alignment=weights, followed=(1.0,)
    )
    assert [len(draw.length_figure(look, on, 300).data) for on in (False, True)] == [1, 2]
    theme.check(draw.length_figure(look, True, 300))
    figure = draw.alignment_figure(look, 300)
    theme.check(figure)
    assert np.allclose(figure.data[0].z, weights)
    assert list(figure.layout.xaxis.ticktext) == ["a", "b"]
    assert list(figure.layout.yaxis.ticktext) == ["b", "z"]
    assert figure.data[0].text[0][1] == "writing 'b': 0.80 on 'b'"
