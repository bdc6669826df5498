"""The player moves its slider to places that exist, and nowhere else."""

import pytest

from pages.ui.components.player import target


@pytest.mark.parametrize("to", [0, 3, 9])
def test_a_place_in_range_is_gone_to(to):
    assert target({"to": to}, 0, 9) == to


@pytest.mark.parametrize(
    "state", [None, 3, {}, {"to": None}, {"to": "3"}, {"to": 3.0}, {"to": True}, {"to": 10}, {"to": -1}]
)
def test_anything_else_is_not(state):
    assert target(state, 0, 9) is None
