"""Bars that are dragged: whatever the address or the browser says, they are a distribution."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui import session
from pages.ui.components import bars, dragging

DEFAULT = (6, 3, 1)


@given(weights=st.lists(st.integers(0, bars.UNITS), min_size=3, max_size=3).filter(any).map(tuple))
def test_what_is_written_is_read(weights):
    assert bars.parse(bars.written(weights), DEFAULT) == (weights, True)


@given(said=st.text() | st.none() | st.integers() | st.lists(st.floats()))
def test_anything_becomes_a_distribution(said):
    weights, _ = bars.parse(said, DEFAULT)
    assert len(weights) == len(DEFAULT)
    assert min(weights) >= 0
    assert math.fsum(bars.shares(weights)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("said", "weights"),
    [
        ("1_2", (1, 2, 1)),
        ("1_2_3_4", (1, 2, 3)),
        ("-5_99999_0.4", (0, 10_000, 0)),
        ("0_0_0", DEFAULT),
        ("nan_x_", DEFAULT),
        ("", DEFAULT),
        ("1" * 100_000, DEFAULT),
        ("१_२_३", DEFAULT),
    ],
)
def test_damaged_weights_are_mended_number_by_number(said, weights):
    assert bars.parse(said, DEFAULT) == (weights, False)


EVENTS = [
    ({"moved": {"weights": "9000_1000_0", "final": True, "seq": 7}}, "9000_1000_0", 7),
    ({"moved": {"weights": "nan_5_1", "final": 1, "seq": -4}}, "6_5_1", 0),
    ({"moved": {"weights": 7, "seq": float("nan")}}, "6_3_1", 0),
    ({"moved": "weights"}, None, 0),
    (None, None, 0),
]


@pytest.mark.parametrize(("event", "weights", "seq"), EVENTS)
def test_any_message_is_taken_as_a_distribution_or_not_at_all(monkeypatch, event, weights, seq):
    state, heard = {"p:bars": event}, {}
    monkeypatch.setattr(bars, "_component", lambda **given: heard.update(given))
    monkeypatch.setattr(dragging.controls, "set_values", lambda **values: state.update(values))
    monkeypatch.setattr(dragging.st, "session_state", state)
    bars.show("p", DEFAULT, "ABC", label="P", hue=0, height=100)
    heard["on_moved_change"]()
    assert state.get("p") == weights
    assert dragging.answered("p") == seq
    assert ("p" in session.session().dragged) == (weights is not None and event["moved"].get("final") is not True)
