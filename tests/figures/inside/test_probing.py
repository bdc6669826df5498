"""Figures of probes: every layer is drawn, the chosen one is marked, and clicks carry its index."""

import numpy as np

from tfcore.figures import theme
from tfcore.figures.inside import probing


def test_accuracy_by_layer_with_its_interval():
    accuracy, control = np.array([0.5, 0.75, 0.7]), np.array([0.4, 0.3, 0.2])
    figure = probing.accuracy_figure(
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
    assert probing.layer_axis(5)["ticktext"] == ["emb.", "0", "1", "2", "3"]
    assert probing.layer_axis(31)["ticktext"] == ["emb.", "5", "10", "15", "20", "25"]


def test_classes_have_their_intervals():
    figure = probing.classes_figure(["a (4)", "b (2)"], [0.5, 1.0], [(0.2, 0.8), (0.4, 1.0)], 340)
    theme.check(figure)
    assert list(figure.data[0].x) == [0.5, 1.0]
    assert np.allclose(figure.data[0].error_x.array, [0.3, 0.0])
    assert np.allclose(figure.data[0].error_x.arrayminus, [0.3, 0.6])
