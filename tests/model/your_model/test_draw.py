"""Figures of models that may be loaded: full and hollow, lines at their bytes, names that are only names."""

import math

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.charts.guesses import guesses_figure
from tfcore.views.model.your_model.draw import fits_figure
from tfcore.views.model.your_model.measure import Need

ROWS = [Need("mine", 10**6, 4 * 10**6, 10**6, 64), Need("large", 10**9, 4 * 10**9, 0, 512)]


def test_what_fits_is_full_and_the_rest_is_hollow():
    spec = fits_figure(ROWS, "mine", 10**9, 2 * 10**9, 300).to_dict()
    mine, large = spec["data"]
    assert [trace["line"]["dash"] for trace in (mine, large)] == ["solid", "dot"]
    assert mine["x"][1] == 5 * 10**6
    assert mine["line"]["color"] == "@accent"
    assert large["marker"]["color"] == "@paper"
    texts = [note["text"] for note in spec["layout"]["annotations"]]
    assert texts == ["5 MB", "4.0 GB", "free now: 1.0 GB", "limit here: 2.0 GB"]
    assert [shape["x0"] for shape in spec["layout"]["shapes"]] == [10**9, 2 * 10**9]
    assert spec["layout"]["annotations"][2]["x"] == pytest.approx(math.log10(10**9))


def test_without_bounds_everything_fits():
    spec = fits_figure(ROWS, "", None, None, 300).to_dict()
    assert all(trace["line"]["dash"] == "solid" for trace in spec["data"])
    assert spec["layout"]["shapes"] == []


def test_plotly_takes_them():
    theme.check(fits_figure([Need("<b>$x$", 1, 1, 0, 1), *ROWS], "mine", 10, 10, 300))
    theme.check(guesses_figure(np.array([0.7, 0.1]), ["a", "b"], 200))


def test_a_name_is_only_a_name():
    spec = fits_figure([Need("<b>$x$", 1, 1, 0, 1)], "", None, None, 300).to_dict()
    assert spec["layout"]["yaxis"]["ticktext"] == ["?b??x?"]
