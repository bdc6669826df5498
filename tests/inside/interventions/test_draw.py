"""Means with intervals: the first part on top, open dots where 0 is included, bars as long as the interval."""

import numpy as np

from tfcore.charts import theme
from tfcore.charts.boards import board
from tfcore.views.inside.interventions.draw import dots_height, interval_dots
from tfcore.views.inside.interventions.measure.prompt_means import means_of

VALUES = np.array([[3.0, -1.0, 0.5], [3.5, -1.2, -0.5], [3.2, -0.9, 0.2]], np.float32)


def test_each_part_has_its_mean_its_interval_and_its_prompts():
    means = means_of(VALUES)
    kinds = ["head", "feed-forward", "head"]
    figure = interval_dots(means, VALUES, ["a", "b", "c"], kinds, ["p", "q", "r"], "fall", dots_height(3))
    theme.check(figure)
    prompts, heads, forward = figure.data
    assert np.allclose(np.reshape(prompts.x, (3, 3)), VALUES)
    assert list(prompts.y) == [0, 1, 2] * 3
    assert list(prompts.customdata) == [*"pppqqqrrr"]
    assert list(heads.text) == ["a", "c"]
    assert list(heads.marker.symbol) == ["circle", "circle-open"]
    assert np.allclose(heads.x + heads.error_x.array, means.high[[0, 2]])
    assert np.allclose(np.array(heads.customdata), np.stack([means.low, means.high], 1)[[0, 2]], atol=1e-3)
    assert list(forward.y) == [1]
    low, high = figure.layout.xaxis.range
    assert low < min(means.low.min(), VALUES.min())
    assert high > max(means.high.max(), VALUES.max())
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_a_part_without_any_effect_has_its_row():
    nothing = np.zeros((2, 1), np.float32)
    figure = interval_dots(means_of(nothing), nothing, ["a"], ["feed-forward"], ["p", "q"], "fall", 200)
    theme.check(figure)
    assert len(figure.data) == 2
    assert figure.layout.xaxis.range[0] < 0 < figure.layout.xaxis.range[1]


def test_crossed_fields_of_a_board():
    values, crossed = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[False, True], [False, False]])
    words = [["w", "x"], ["y", "z"]]
    figure = board(values, ["0", "1"], "%{text}", limit=4.0, crossed=crossed, words=words, across="kind", height=300)
    theme.check(figure)
    cells, cross = figure.data
    assert cells.text[1][0] == "y"
    assert len(cross.x) == 1
    assert (round(float(cross.x[0])), round(float(cross.y[0]))) == (1, 0)
    assert figure.layout.xaxis.title.text == "kind"
    large = board(np.ones((30, 10)), ["0"] * 10, "%{text}", limit=4.0, crossed=np.ones((30, 10), bool), height=300)
    assert (float(large.data[1].x[1]), float(large.data[1].y[1])) == (1, 0)


def test_marks_stand_beside_the_numbers_of_low_rows():
    values = np.ones((30, 2))
    figure = board(values, ["0", "1"], "%{text}", limit=0.5, crossed=np.ones((30, 2), bool), height=600)
    _, triangle, cross = figure.data
    assert list(triangle.y[:4]) == list(cross.y[:4]) == [0, 0, 1, 1], "in the middle of the row"
    assert triangle.x[0] < -0.3 < 0.3 < cross.x[0]
