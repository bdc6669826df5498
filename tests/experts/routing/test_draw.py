"""Pictures of routing: valid for plotly in both themes, one mark for each thing shown."""

import itertools

import numpy as np
import pytest

from tests.pages.figures import array
from tfcore.charts import theme
from tfcore.views.experts.routing.draw import routing as figures
from tfcore.views.experts.routing.measure.text_routing import GroupChoice
from tfcore.views.experts.routing.measure.tokens import Preferred

LIKED = Preferred(np.array([4, 2]), np.array([9, 3]), np.array([10, 30]), np.array([0.6, 0.2]))


def test_an_overview_names_experts_and_leaves_out_who_has_none():
    first = np.array([[0, 9, -1], [2, 2, 1]])
    drawn = figures.overview_figure(first, np.full((2, 3), 0.5), ["a", "b", "c"], [1, 2], (1, 2), 200)
    theme.check(drawn)
    field = drawn.to_dict()["data"][0]
    assert field["text"] == [["1", "10", ""], ["3", "3", "2"]]
    assert np.isnan(array(field["z"])[0, 2])
    assert array(field["z"])[0, 1] == 9 % figures.HUES
    assert field["customdata"][0][2] == "'c' (2), layer 1: no expert"
    assert field["customdata"][1][2] == "'c' (2), layer 2: expert 2, weight 0.50"
    frame = drawn.to_dict()["layout"]["shapes"][0]
    assert (frame["x0"], frame["y0"]) == (1.5, 0.5)
    long = figures.overview_figure(np.zeros((1, 120), int), np.ones((1, 120)), ["a"] * 120, [0], (0, 0), 200)
    assert "text" not in long.to_dict()["data"][0]


def test_flat_steps_of_colour():
    steps = figures.steps()
    assert steps[0] == [0, "@expert0"]
    assert steps[-1] == [1, "@expert7"]
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(steps))


@pytest.mark.parametrize("usual", [None, np.array([0.5, 0.5, 1.0])])
def test_probabilities_have_the_weights_of_the_chosen(usual):
    drawn = figures.probs_figure(
        np.array([0.6, 0.3, 0.1]), np.array([0.67, 0.33, 0.0]), np.array([True, True, False]), usual, 300
    )
    theme.check(drawn)
    assert drawn.to_dict()["data"][0]["text"] == ["<b>0.67</b>", "<b>0.33</b>", ""]
    assert len(drawn.to_dict()["data"]) == (1 if usual is None else 2)


def test_groups_that_are_open_are_framed_and_what_is_compared_is_marked():
    choice = GroupChoice(np.array([0.5, 0.4, 0.3, -0.2]), (0,), 2)
    probs, chosen = np.array([0.6, 0.3, 0.4, 0.1]), np.array([True, False, False, False])
    drawn = figures.probs_figure(probs, chosen * 1.0, chosen, None, 300, choice)
    theme.check(drawn)
    bars, dashes = drawn.to_dict()["data"]
    assert array(dashes["y"]).tolist() == pytest.approx(choice.compared.tolist())
    ((low, high),) = [(one["x0"], one["x1"]) for one in drawn.to_dict()["layout"]["shapes"]]
    assert low < 1 < 2 < high < 3
    assert drawn.to_dict()["layout"]["yaxis"]["range"][0] < -0.2
    assert len(bars["x"]) == 4


def test_a_load_shows_what_has_no_room():
    taken, dropped = np.array([5, 5, 0]), np.array([3, 0, 0])
    drawn = figures.load_figure(taken, dropped, 5, 0, np.array([4.0, 4.0, 5.0]), 300)
    theme.check(drawn)
    data, layout = drawn.to_dict()["data"], drawn.to_dict()["layout"]
    assert array(data[1]["y"]).tolist() == [3, 0, 0]
    assert layout["annotations"][0]["text"] == "room: 5"
    assert data[0]["marker"]["color"][1].endswith("/0.3"), "the marked expert stands out"
    plain = figures.load_figure(taken, 0 * dropped, None, -1, None, 300)
    theme.check(plain)
    assert plain.to_dict()["layout"]["annotations"][0]["text"] == "even"


@pytest.mark.parametrize(("by", "first"), [("share", (90, "90 % of 10")), ("work", (60, "60 % · 90 % of all"))])
def test_likings(by, first):
    drawn = figures.preferred_figure(LIKED, ["a", "b"], 3, by, 300)
    theme.check(drawn)
    bars = drawn.to_dict()["data"][0]
    assert (float(array(bars["x"])[0]), bars["text"][0]) == (pytest.approx(first[0]), first[1])
