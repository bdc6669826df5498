"""Figures of steering: bars by side, curves by factor, grey where the text has collapsed."""

import numpy as np

from tfcore.figures import theme
from tfcore.figures.inside import steering

FACTORS = (-1.0, 0.0, 1.0)


def test_a_text_along_a_direction():
    figure = steering.projection_figure(np.array([np.nan, 1.5, -0.5]), ["a", "b", "c"], 230)
    theme.check(figure)
    assert list(figure.data[0].marker.color)[1:] == ["@residual", "@key"]
    assert np.allclose(figure.data[0].y[1:], [1.5, -0.5])


def test_next_tokens_by_factor():
    figure = steering.next_figure(np.array([[0.1, 0.2, 0.3], [0.5, 0.4, 0.0]]), ["a", "b"], FACTORS, 1.0, 330)
    theme.check(figure)
    assert [list(trace.y) for trace in figure.data] == [[0.1, 0.2, 0.3], [0.5, 0.4, 0.0]]
    assert list(figure.layout.xaxis.ticktext) == ["-1", "0", "+1"]
    assert [shape.x0 for shape in figure.layout.shapes] == [2]


def test_where_a_text_collapses():
    bad = [False, False, True]
    figure = steering.collapse_figure(
        np.array([1.0, 2.0, 5.0]), np.array([0.0, 0.1, 0.9]), FACTORS, bad, (4.0, 0.6), -1.0, 330
    )
    theme.check(figure)
    assert list(figure.data[0].y) == [1.0, 2.0, 5.0]
    assert list(figure.data[1].y) == [4.0, 4.0]
    assert list(figure.data[2].y) == [0.0, 0.1, 0.9]
    grey, chosen = figure.layout.shapes
    assert (grey.x0, grey.x1) == (1.5, 2.5)
    assert chosen.x0 == 0
