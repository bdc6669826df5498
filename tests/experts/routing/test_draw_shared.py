"""Pictures of shared experts: valid in both themes, and what is drawn is what was given."""

import numpy as np
import pytest

from tests.pages.figures import array
from tfcore.charts import theme
from tfcore.views.experts.routing.draw import shared as figures

TOKENS = ["·the", "·dog", "."]


def test_bars_are_parts_of_one_and_say_so_even_beyond_it():
    drawn = figures.share_figure(TOKENS, np.array([0.25, 1.2, -0.1]), 1 / 3, 200)
    theme.check(drawn)
    below, above = drawn.to_dict()["data"]
    assert array(below["y"]).tolist() == [0.25, 1, 0]
    assert array(above["y"]).tolist() == [0.75, 0, 1]
    assert below["text"] == ["'·the' (0): 25% shared", "'·dog' (1): 120% shared", "'.' (2): -10% shared"]
    assert above["text"][1] == "'·dog' (1): -20% chosen"
    assert drawn.layout.shapes[0].y0 == pytest.approx(1 / 3)


def test_what_is_missed_begins_with_the_second_token():
    drawn = figures.missed_figure(TOKENS, np.array([0.5, -0.25]), np.array([1.0, 2.0]), 200)
    theme.check(drawn)
    shared, routed = drawn.to_dict()["data"]
    assert list(shared["x"]) == list(routed["x"]) == [1, 2]
    assert array(shared["y"]).tolist() == [0.5, -0.25]
    assert array(routed["y"]).tolist() == [1, 2]
    assert list(shared["text"]) == TOKENS[1:]
