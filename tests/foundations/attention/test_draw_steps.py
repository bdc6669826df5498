"""Matrices of the page on attention: valid for plotly, aligned, the true numbers in the cells, fixed ranges."""

from itertools import pairwise

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.views.foundations.attention.draw import steps as figures
from tfcore.views.foundations.attention.measure.steps import attention_steps, temperature_sweep

LABELS = ["a", "b", "c", "d"]
CORNERS = [(2.0, 2.0), (-2.0, 2.0), (-2.0, -2.0), (2.0, -2.0)]


def matrices(vectors=CORNERS, temperature=1.0, chosen=2):
    steps = attention_steps(vectors, vectors, vectors, temperature)
    return steps, figures.attention_steps_figure(steps, LABELS, chosen, 2.0)


def test_plotly_accepts_it():
    steps = attention_steps(CORNERS, CORNERS, CORNERS)
    theme.check(figures.attention_steps_figure(steps, LABELS, 0, 2.0))
    theme.check(figures.temperature_figure(temperature_sweep((8.0, 0.1, -0.3), 8.0)))


def test_the_cells_hold_the_numbers():
    steps, figure = matrices()
    for trace, values in zip(figure.data, (steps.products, steps.scores, steps.weights, steps.outputs), strict=True):
        np.testing.assert_allclose(trace.z, values, atol=1e-6)
        assert trace.texttemplate == "%{z:.2f}"


def test_ranges_hold_every_possible_number_and_never_move():
    _, extreme = matrices()
    _, small = matrices([(0.1, 0.0)] * 4)
    for one, other in zip(extreme.data, small.data, strict=True):
        assert (one.zmin, one.zmax) == (other.zmin, other.zmax)
        assert one.zmin <= np.min(one.z) <= np.max(one.z) <= one.zmax


def test_matrices_stand_in_a_row_and_share_their_rows():
    figure = matrices()[1].to_dict()
    domains = [figure["layout"][f"xaxis{n}"]["domain"] for n in ("", 2, 3, 4)]
    assert domains[0][0] == 0
    assert domains[-1][1] == pytest.approx(1)
    assert all(one[1] < other[0] for one, other in pairwise(domains))
    widths = {round((end - start) / n, 9) for (start, end), n in zip(domains, (4, 4, 4, 2), strict=True)}
    assert len(widths) == 1, "cells have one size in all of them"
    assert {trace["yaxis"] for trace in figure["data"]} == {"y"}
    frames = figure["layout"]["shapes"]
    assert {(frame["y0"], frame["y1"]) for frame in frames} == {(1.5, 2.5)}


def test_the_title_says_the_temperature():
    titles = [note["text"] for note in matrices(temperature=2.5)[1].to_dict()["layout"]["annotations"]]
    assert any("2.5" in title for title in titles)


def test_a_drag_costs_little():
    assert len(figures.attention_steps_figure(matrices()[0], LABELS, 0, 2.0).to_json()) < 10_000
