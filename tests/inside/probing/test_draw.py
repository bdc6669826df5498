"""Charts of probing: every layer, factor and pair is drawn, what is chosen is marked, and clicks carry its index."""

import numpy as np

from tfcore.charts import theme
from tfcore.views.inside.probing import draw

FACTORS = (-1.0, 0.0, 1.0)


def test_accuracy_by_layer_with_its_interval():
    accuracy, control = np.array([0.5, 0.75, 0.7]), np.array([0.4, 0.3, 0.2])
    figure = draw.accuracy_figure(
        accuracy, [(0.4, 0.6), (0.7, 0.8), (0.6, 0.8)], control, (0.25, "most frequent class"), 5, 1, 340
    )
    theme.check(figure)
    band, own, other, level = figure.data
    assert list(band.x) == [0, 1, 2, 2, 1, 0]
    assert list(band.y) == [0.4, 0.7, 0.6, 0.8, 0.8, 0.6]
    assert list(own.y) == accuracy.tolist()
    assert list(own.customdata) == [0, 1, 2]
    assert list(other.y) == control.tolist()
    assert list(level.x) == [-0.5, 4.5]  # as wide as all layers, while more are to come
    assert [shape.x0 for shape in figure.layout.shapes] == [1]


def test_few_layers_are_each_named_and_many_are_not():
    assert draw.layer_axis(5)["ticktext"] == ["emb.", "0", "1", "2", "3"]
    assert draw.layer_axis(31)["ticktext"] == ["emb.", "5", "10", "15", "20", "25"]


def test_classes_have_their_intervals():
    figure = draw.classes_figure(["a (4)", "b (2)"], [0.5, 1.0], [(0.2, 0.8), (0.4, 1.0)], 340)
    theme.check(figure)
    assert list(figure.data[0].x) == [0.5, 1.0]
    assert np.allclose(figure.data[0].error_x.array, [0.3, 0.0])
    assert np.allclose(figure.data[0].error_x.arrayminus, [0.3, 0.6])


def test_a_text_along_a_direction():
    figure = draw.projection_figure(np.array([np.nan, 1.5, -0.5]), ["a", "b", "c"], 230)
    theme.check(figure)
    assert list(figure.data[0].marker.color)[1:] == ["@residual", "@key"]
    assert np.allclose(figure.data[0].y[1:], [1.5, -0.5])


def test_next_tokens_by_factor():
    figure = draw.next_figure(np.array([[0.1, 0.2, 0.3], [0.5, 0.4, 0.0]]), ["a", "b"], FACTORS, 1.0, 330)
    theme.check(figure)
    assert [list(trace.y) for trace in figure.data] == [[0.1, 0.2, 0.3], [0.5, 0.4, 0.0]]
    assert list(figure.layout.xaxis.ticktext) == ["-1", "0", "+1"]
    assert [shape.x0 for shape in figure.layout.shapes] == [2]


def test_where_a_text_collapses():
    bad = [False, False, True]
    figure = draw.collapse_figure(
        np.array([1.0, 2.0, 5.0]), np.array([0.0, 0.1, 0.9]), FACTORS, bad, (4.0, 0.6), -1.0, 330
    )
    theme.check(figure)
    assert list(figure.data[0].y) == [1.0, 2.0, 5.0]
    assert list(figure.data[1].y) == [4.0, 4.0]
    assert list(figure.data[2].y) == [0.0, 0.1, 0.9]
    grey, chosen = figure.layout.shapes
    assert (grey.x0, grey.x1) == (1.5, 2.5)
    assert chosen.x0 == 0


def test_every_pair_is_drawn():
    parts = np.array([[0.1, -0.3, 0.0], [0.2, 0.0, 0.1]])
    figure = draw.pairs_figure(parts, ["a", "b"], ["c", "d", "e"])
    theme.check(figure)
    cells = figure.data[0]
    assert np.allclose(cells.z, parts)
    assert (cells.zmin, cells.zmax) == (-0.3, 0.3)
    assert draw.pairs_height(60, ["a"]) == draw.pairs_height(30, ["a"])
