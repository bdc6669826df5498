"""Curves over layers and depths: what plotly accepts, small, and true to their numbers."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.charts.depth_curves import Line, decades, depth_figure
from tfcore.measures.deep_networks import Deep, probe

PROBE = probe(Deep(n_layers=3))
LINES = [Line("a", "@cat0", np.arange(1, 4), PROBE.gradient), Line("b", "@cat1", np.arange(1, 4), np.zeros(3))]

FIGURES = {
    "curves": lambda: depth_figure(LINES, x_title="x", y_title="y", height=300),
    "log curves": lambda: depth_figure(
        LINES, x_title="x", y_title="y", height=300, log_x=True, limits=((1e-2, "here"), (1e9, "far away"))
    ),
    "nothing to draw": lambda: depth_figure(LINES[1:], x_title="x", y_title="y", height=300),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_accepts_it_in_both_themes_and_it_is_small(name):
    figure = FIGURES[name]()
    theme.check(figure)
    assert len(figure.to_json()) < 60_000


def test_a_vanished_gradient_is_not_drawn_and_does_not_stretch_the_axis():
    assert np.isnan(FIGURES["curves"]().data[1]["y"]).all()
    assert decades([np.array([0.0, 2e-3, np.nan, np.inf, 30.0])]) == (-3, 2)
    assert decades([np.array([0.5])]) == (-2, 0)
    assert decades([np.zeros(2)]) == (-1, 1)


def test_only_limits_within_the_picture_are_drawn():
    layout = FIGURES["log curves"]().to_dict()["layout"]
    assert [note["text"] for note in layout["annotations"]] == ["here"]
