"""Which tokens of the river have a row of their own."""

import dataclasses

import numpy as np

from tfcore.views.inside.flow import river as river_view
from tfcore.views.inside.flow.draw.river import FEWEST, HEADER, MOST, SHORT, TALLEST, THIN, WIDTHS, carrying
from tfcore.views.sources import Reading

LONG = Reading(
    "stories", "Once upon a time there was a little girl named Lily and she had a big red ball that she loved to"
)


def widths(*shares: float) -> list[int]:
    """The rows of a flow whose streams are at most so wide; the last token is explained."""
    return carrying(np.array([np.zeros(len(shares)), shares]), len(shares) - 1)


def test_each_token_of_a_short_text_has_a_row():
    assert widths(*[0.0] * (SHORT - 1), 1.0) == list(range(SHORT))


def test_in_a_long_text_the_widest_have_one_and_the_token_that_is_explained():
    few = [0.0] * 40
    few[3], few[30] = 0.2, 0.1
    assert {3, 30, 39} <= set(widths(*few))
    assert len(widths(*few)) == FEWEST
    assert len(widths(*[4 * THIN] * 40)) == MOST
    assert 39 in widths(*[4 * THIN] * 40)
    some = [4 * THIN] * (FEWEST + 2) + [THIN / 2] * 20
    assert widths(*some, 0.0) == [*range(FEWEST + 2), FEWEST + 22]


def test_the_river_says_which_and_is_as_high_as_they_are():
    chart = river_view(LONG, threshold=0.02).chart
    tokens, kept = chart.data["tokens"], chart.data["kept"]
    assert kept == sorted(set(kept))
    assert len(tokens) > SHORT
    assert chart.data["target"] in kept
    runs = sum(place not in kept and (place == 0 or place - 1 in kept) for place in range(len(tokens)))
    rows = len(kept) + runs
    assert chart.height == HEADER + rows * max(15, min(TALLEST, WIDTHS // rows))
    assert river_view(dataclasses.replace(LONG, text="Once upon a time"), threshold=0.02).chart.data["kept"] is None
