"""Points that are dragged: whatever the address or the browser says, they are valid, and the address follows a drop."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.foundations.attention import drag
from pages.foundations.attention.points import LIMIT, parse, written
from pages.ui import session
from pages.ui.components import dragging, scene
from tests.pages import visits
from tests.pages.figures import scenes

DEFAULT = ((1.0, -0.5), (0.0, 2.0))
COORDINATE = st.integers(-40, 40).map(lambda n: round(n / 20, 2) + 0.0)
BEGINNING = drag.QUERIES + drag.KEYS + drag.VALUES
MOVED = ((0.5, 0.5), (1.0, 1.0), *BEGINNING[2:])

opened = partial(visits.opened, "foundations/attention/page.py")


@given(points=st.lists(st.tuples(COORDINATE, COORDINATE), min_size=2, max_size=2).map(tuple))
def test_what_is_written_is_read(points):
    assert parse(written(points), DEFAULT) == (points, True)


@given(said=st.text() | st.none() | st.integers() | st.lists(st.floats()))
def test_anything_becomes_valid_points(said):
    points, _ = parse(said, DEFAULT)
    assert len(points) == len(DEFAULT)
    assert all(abs(number) <= LIMIT for point in points for number in point)
    assert parse(written(points), DEFAULT) == (points, True)


@pytest.mark.parametrize(
    ("said", "points"),
    [
        ("nan_inf_-inf_1", ((1.0, -0.5), (0.0, 1.0))),
        ("1e308_999999999_-999999999_0", ((1.0, 2.0), (-2.0, 0.0))),
        ("0.5_0.5", ((0.5, 0.5), (0.0, 2.0))),
        ("1_1_1_1_1_1", ((1.0, 1.0), (1.0, 1.0))),
        ("0.51_0.12_-0.01_0", ((0.5, 0.1), (0.0, 0.0))),
        ("", DEFAULT),
        ("<script>", DEFAULT),
        ("1" * 100_000, DEFAULT),
        ("१_२_३_४", None),  # digits, but not ours
    ],
)
def test_damaged_points_are_mended_number_by_number(said, points):
    mended, exact = parse(said, DEFAULT)
    assert not exact
    assert points is None or mended == points


def test_the_address_says_nothing_of_the_default_and_a_word_of_what_was_mended():
    assert "points" not in opened().query_params
    test = opened(points="9_0_nan_1")
    assert test.query_params["points"] == written(((2.0, 0.0), (0.4, 1.0), *BEGINNING[2:]))
    assert "Corrected from the link" in visits.said(test, "caption")


def sent(test: AppTest) -> dict:
    """What the scene received."""
    [planes] = scenes(test, "planes")
    return planes


def test_the_browser_gets_points_and_words():
    data = sent(opened(points=written(MOVED)))
    assert data["points"] == [list(point) for point in MOVED]
    assert data["tokens"] == drag.WORDS
    assert data["kinds"] == ["query", "key", "value"]
    assert data["seq"] == 0


def test_while_a_point_is_held_the_address_stays():
    test = opened()
    test.session_state["points"] = written(MOVED)
    test.session_state[session.KEY].dragged.add("points")
    visits.run(test)
    assert sent(test)["points"] == [list(point) for point in MOVED]
    assert "points" not in test.query_params
    test.session_state[session.KEY].dragged.clear()
    visits.run(test)
    assert test.query_params["points"] == written(MOVED)


REST = "_1.8_-0.3_-1.5_-0.8_" + written(drag.KEYS + drag.VALUES)
EVENTS = [
    (["moved", {"points": "0.5_0.5_1_1" + REST, "kind": "query", "token": 1, "final": True, "seq": 7}], MOVED, 7),
    (["moved", {"points": "0.5_0.5_1_1", "kind": "key", "token": 1, "final": 1, "seq": -4}], MOVED, 0),
    (["moved", {"points": "nan_9", "kind": [], "token": 1e9}], ((-0.5, 2.0), *BEGINNING[1:]), 0),
    (["moved", {"points": 7, "token": True, "seq": float("nan")}], BEGINNING, 0),
    (["moved", {"points": "1" * 5_000}], None, 0),
    (["moved", "points"], None, 0),
    (["part", {"points": "0.5_0.5_1_1"}], None, 0),
    (["moved"], None, 0),
    ("nonsense", None, 0),
    (None, None, 0),
]


@pytest.mark.parametrize(("event", "points", "seq"), EVENTS)
def test_any_message_is_taken_as_valid_points_or_not_at_all(monkeypatch, event, points, seq):
    state, heard = {"points:scene": {"told": event}}, {}
    monkeypatch.setattr(scene, "_component", lambda **given: heard.update(given) or {})
    monkeypatch.setattr(dragging.controls, "set_values", lambda **values: state.update(values))
    monkeypatch.setattr(scene.st, "session_state", state)
    shown = drag.views.planes(*drag.thirds(BEGINNING), drag.WORDS, 2, LIMIT, 0.05, 1.0)
    scene.scene(shown.chart, key="points", alt=shown.alt, on_told=lambda told: drag.take(told, BEGINNING))
    heard["on_told_change"]()
    assert state.get("points") == (None if points is None else written(points))
    assert dragging.answered("points") == seq
    assert state.get("token") == ("cat" if seq == 7 else None)
