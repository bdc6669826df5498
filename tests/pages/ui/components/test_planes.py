"""Points that are dragged: whatever the address or the browser says, they are valid, and the address follows a drop."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.ui import session
from pages.ui.components import dragging, planes

DEFAULT = ((1.0, -0.5), (0.0, 2.0))
COORDINATE = st.integers(-40, 40).map(lambda n: round(n / 20, 2) + 0.0)


def app():
    from pages.ui import links, notices
    from pages.ui.components import planes

    links.visit()
    with notices.whole_run():
        notices.reserve()
        plane = planes.Plane(title="t", label="l", kinds=("query",))
        points = planes.read("points", ((1.0, -0.5), (0.0, 2.0)))
        planes.show("points", points, tokens=["a", "b"], planes=[plane])


def run(**address: str) -> AppTest:
    test = AppTest.from_function(app, default_timeout=30)
    test.query_params.update(address)
    test.run()
    assert not test.exception, test.exception
    return test


@given(points=st.lists(st.tuples(COORDINATE, COORDINATE), min_size=2, max_size=2).map(tuple))
def test_what_is_written_is_read(points):
    assert planes.parse(planes.written(points), DEFAULT) == (points, True)


@given(said=st.text() | st.none() | st.integers() | st.lists(st.floats()))
def test_anything_becomes_valid_points(said):
    points, _ = planes.parse(said, DEFAULT)
    assert len(points) == len(DEFAULT)
    assert all(abs(number) <= planes.LIMIT for point in points for number in point)
    assert planes.parse(planes.written(points), DEFAULT) == (points, True)


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
    mended, exact = planes.parse(said, DEFAULT)
    assert not exact
    assert points is None or mended == points


def test_the_address_says_nothing_of_the_default_and_a_word_of_what_was_mended():
    assert not run().query_params
    test = run(points="9_0_nan_1")
    assert test.query_params["points"] == "2_0_0_1"
    assert "Corrected from the link" in test.caption[0].value


def sent(test: AppTest) -> dict:
    """What the component received."""
    found = next(e for e in test.main if getattr(e, "type", "") == "bidi_component")
    return json.loads(found.proto.json)


def test_the_browser_gets_points_and_words():
    data = sent(run(points="0.5_0.5_1_1"))
    assert data["points"] == [[0.5, 0.5], [1, 1]]
    assert data["tokens"] == ["a", "b"]
    assert data["kinds"] == ["query"]


def test_while_a_point_is_held_the_address_stays():
    test = run()
    test.session_state["points"] = "0.5_0.5_1_1"
    test.session_state[session.KEY].dragged.add("points")
    test.run()
    assert sent(test)["points"] == [[0.5, 0.5], [1, 1]]
    assert not test.query_params
    test.session_state[session.KEY].dragged.clear()
    test.run()
    assert test.query_params["points"] == "0.5_0.5_1_1"


EVENTS = [
    ({"moved": {"points": "0.5_0_1_1", "kind": "query", "token": 1, "final": True, "seq": 7}}, [[0.5, 0], [1, 1]], 7),
    ({"moved": {"points": "nan_9_1", "kind": [], "token": 1e9, "final": 1, "seq": -4}}, [[1, 2], [1, 2]], 0),
    ({"moved": {"points": 7, "token": True, "seq": float("nan")}}, [[1, -0.5], [0, 2]], 0),
    ({"moved": "points"}, [[1, -0.5], [0, 2]], 0),
    ("nonsense", [[1, -0.5], [0, 2]], 0),
    (None, [[1, -0.5], [0, 2]], 0),
]


@pytest.mark.parametrize(("event", "points", "seq"), EVENTS)
def test_any_message_is_taken_as_valid_points_or_not_at_all(monkeypatch, event, points, seq):
    chosen, state, heard = [], {"points:planes": event}, {}
    monkeypatch.setattr(planes, "_component", lambda **given: heard.update(given))
    monkeypatch.setattr(dragging.controls, "set_values", lambda **values: state.update(values))
    monkeypatch.setattr(dragging.st, "session_state", state)
    plane = planes.Plane(title="t", label="l", kinds=("query",))
    planes.show("points", DEFAULT, tokens=["a", "b"], planes=[plane], on_move=lambda *what: chosen.append(what))
    heard["on_moved_change"]()
    now, _ = planes.parse(state.get("points", planes.written(DEFAULT)), DEFAULT)
    assert [list(point) for point in now] == points
    assert dragging.answered("points:planes") == seq
    assert chosen == ([("query", 1)] if seq == 7 else [])
