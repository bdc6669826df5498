"""Figures of features: every cell is drawn, the chosen row is framed, and clicks carry the feature."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.views.inside.features import draw as figures


def test_the_map_frames_the_chosen_row():
    values = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    names, labels = ["7 ·a", "12 ·b"], ["x", "y", "z"]
    height = figures.map_height(2, labels)
    figure = figures.feature_map(values, [7, 12], names, labels, 12, height)
    theme.check(figure)
    cells = figure.data[0]
    assert np.allclose(cells.z, values)
    assert cells.zmax == 2.0
    assert [list(row) for row in cells.customdata] == [[7] * 3, [12] * 3]
    assert [(shape.y0, shape.y1) for shape in figure.layout.shapes] == [(0.5, 1.5)]
    assert list(figure.layout.yaxis.ticktext) == names
    assert figures.map_width(40, names) - figures.map_width(30, names) == 10 * figures.COLUMN


def test_a_histogram_reaches_from_nothing_to_the_largest():
    shares = np.array([0.5, 0.25, 0.25, 0.0])
    figure = figures.histogram_figure(shares, 2.0, 230)
    theme.check(figure)
    assert np.allclose(figure.data[0].x, [0.25, 0.75, 1.25, 1.75])
    assert np.allclose(figure.data[0].y, shares)
    theme.check(figures.histogram_figure(np.zeros(4), 0.0, 230))  # of a feature that was never active


def test_neighbours_carry_their_numbers():
    figure = figures.neighbours_figure([5, 9], ["5 ·a", "9 ·b"], [0.6, 0.2], 280)
    theme.check(figure)
    assert list(figure.data[0].customdata) == [5, 9]
    assert list(figure.data[0].x) == [0.6, 0.2]
    assert figure.layout.xaxis.range[1] == pytest.approx(0.66)
