"""The door for figures: what it sends, what it accepts back, and that a page with figures runs."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from pages.ui import session
from pages.ui.components import assets
from pages.ui.components import figure as door
from tfcore.charts import theme


def parts(payload: bytes) -> tuple[dict, dict, bytes]:
    """Take a payload apart the way figure.js does."""
    head, _, rest = payload.partition(b"\n")
    facts = json.loads(head)
    return facts, json.loads(rest[: facts["size"]]), rest[facts["size"] :]


def script(asked: bool = False) -> None:
    """A page with one figure; `asked` stands for a click on CSV in the run before."""
    import numpy as np
    import pandas as pd
    import streamlit as st

    from pages.ui.components.figure import figure
    from pages.ui.session import session
    from tfcore.charts import theme

    def numbers() -> pd.DataFrame:
        st.session_state["computed"] = st.session_state.get("computed", 0) + 1
        return pd.DataFrame({"token": ["é", "b"], "weight": [0.25, 0.75]})

    if asked:
        session().csv_wanted.add("map:figure")
    z = np.arange(6, dtype=np.uint8).reshape(2, 3)
    fig = theme.build([{"type": "heatmap", "z": z, "colorscale": "@weights"}], theme.base_layout(200))
    figure(fig, key="map", alt="a finding", height=320, caption="$x$ <b>", table=numbers, on_click=print, min_width=500)


def sent(at: AppTest) -> bytes:
    assert not at.exception
    return next(e.proto.bytes for e in at.main if getattr(e, "type", "") == "bidi_component")


def test_payload_is_small_and_complete():
    at = AppTest.from_function(script).run()
    payload = sent(at)
    head, spec, table = parts(payload)
    assert head["alt"] == "a finding"
    assert head["caption"] == "$x$ <b>"
    assert head["name"] == "map"
    assert (head["height"], head["minWidth"]) == (320, 500)
    assert (head["click"], head["hover"], head["csv"]) == (True, False, True)
    assert spec["layout"]["height"] == 320
    assert spec["layout"]["uirevision"] == "map"
    assert "template" not in spec["layout"]
    assert spec["data"][0]["z"]["dtype"] == "u1"
    assert len(payload) < 3000
    assert table == b""
    assert not head["file"]
    assert "computed" not in at.session_state, "the table is computed only when it is asked for"


def test_csv_comes_once_when_asked_for():
    at = AppTest.from_function(script, kwargs={"asked": True}).run()
    head, _, table = parts(sent(at))
    assert head["file"]
    assert table.decode("utf-8-sig") == "token,weight\r\né,0.25\r\nb,0.75\r\n"
    assert not at.session_state[session.KEY].csv_wanted
    assert at.session_state["computed"] == 1


def test_script_sent_with_every_change_is_tiny():
    assert len(door.LOADER) < 600
    assert assets.digest() in door.LOADER


def test_default_template_is_left_out_of_any_plotly_figure():
    fig = go.Figure(go.Heatmap(z=np.zeros((2, 2), np.float32)))
    spec = json.loads(door._json(fig, 100, "k"))
    assert "template" not in spec["layout"]
    assert spec["data"][0]["z"]["dtype"] == "f4"


def test_numbers_that_json_does_not_have_are_refused_rather_than_sent():
    with pytest.raises(ValueError, match="JSON"):
        door._json(theme.build([{"type": "scatter", "y": [float("nan")]}], {}), 100, "k")
    with pytest.raises(TypeError, match="object"):
        door._json(theme.build([{"type": "scatter", "y": [object()]}], {}), 100, "k")


def test_numpy_scalars_and_large_heatmaps_are_fine():
    z = np.zeros((12 * 128, 128), np.uint8)
    spec = door._json(theme.build([{"type": "heatmap", "z": z, "zmax": np.float32(1)}], {}), 100, "k")
    assert len(spec) < 1.4 * z.nbytes
    assert json.loads(spec)["data"][0]["zmax"] == 1.0


GOOD = {"curve": 0, "point": [1, 2], "x": 3, "y": "cat", "customdata": [1, "a", None]}


@pytest.mark.parametrize(
    "change", [{}, {"point": 7}, {"x": None}, {"customdata": 1.5}, {"y": ""}, {"x": -4.5, "extra": "dropped"}]
)
def test_events_as_the_browser_sends_them_pass(change):
    event = door.checked({**GOOD, **change})
    assert event == {k: v for k, v in {**GOOD, **change}.items() if k in GOOD}


@pytest.mark.parametrize(
    "change",
    [
        {"curve": -1},
        {"curve": True},
        {"curve": 1.0},
        {"curve": None},
        {"curve": 10**9},
        {"point": []},
        {"point": [1]},
        {"point": [1, 2, 3]},
        {"point": "1"},
        {"point": [1, -1]},
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": 10**400},
        {"y": "a" * 10_000},
        {"customdata": [[1]]},
        {"customdata": list(range(99))},
        {"customdata": {"a": 1}},
        {"x": {"__proto__": 1}},
    ],
)
def test_hostile_events_are_dropped(change):
    assert door.checked({**GOOD, **change}) is None


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(JSON | some.fixed_dictionaries({"curve": JSON, "point": JSON, "x": JSON, "y": JSON, "customdata": JSON}))
def test_whatever_arrives_is_checked_or_dropped(event):
    found = door.checked(event)
    assert found is None or set(found) == set(GOOD)


def test_a_click_reaches_the_page_only_when_it_is_one(monkeypatch):
    seen = []
    monkeypatch.setattr(door.st, "session_state", {"a": {"click": GOOD}, "b": {"click": {"curve": "x"}}, "c": 3})
    for state in ("a", "b", "c", "nobody"):
        door._deliver(state, "click", seen.append)
    assert seen == [GOOD]
    door._deliver("a", "click", None)


@pytest.mark.parametrize(
    ("sent", "heard"),
    [
        ([[3, 1], [0, 2], None], [[[3, 1], [0, 2], None]]),
        ([], [[]]),
        (None, []),
        ({"0": [3, 1]}, []),
        ([[3, 1], [[3], 1]], []),
        ([[3, float("nan")]], []),
        ([["a" * 10_000]], []),
        ([[3, 1]] * (door.MOST_SELECTED + 1), []),
    ],
)
def test_places_within_a_box_reach_the_page_when_they_are_such(monkeypatch, sent, heard):
    seen = []
    monkeypatch.setattr(door.st, "session_state", {"a": {"select": sent}})
    door._select("a", seen.append)
    assert seen == heard
    door._select("a", None)
    assert len(seen) == len(heard)


@pytest.mark.parametrize("value", ["html", None, 5, ["csv"], {"csv": 1}])
def test_only_csv_can_be_asked_for(monkeypatch, value):
    state = {"a": {"download": value}}
    monkeypatch.setattr(door.st, "session_state", state)
    door._ask_for_csv("a")
    assert not session.session().csv_wanted


def test_tables_may_be_frames_or_functions():
    frame = pd.DataFrame({"a": [1]})
    assert door._csv(frame) == door._csv(lambda: frame) == "a\r\n1\r\n".encode("utf-8-sig")


def test_a_token_of_any_control_character_stays_in_its_row():
    signs = [*map(chr, [*range(32), *range(0x7F, 0xA0), 0x2028, 0x2029]), "\r\n", ",", '"', " b", "é"]
    tokens = [token for sign in signs for token in (sign, f"a{sign}b")]
    given = door._csv(pd.DataFrame({"token": tokens, "place": range(len(tokens))})).decode("utf-8-sig")
    rows = [["token", "place"], *([token, str(place)] for place, token in enumerate(tokens))]
    assert list(csv.reader(io.StringIO(given, newline=""), strict=True)) == rows


def test_served_files_are_the_ones_in_the_repository():
    here = Path(door.__file__).parent
    assert assets.contents()["figure.js"] == (here / "figure.js").read_bytes()
    assert assets.contents()["theme.js"].startswith(b"export default {")


def test_what_stays_the_same_is_not_drawn_again(monkeypatch):
    drawn = []

    def draw(name: str) -> go.Figure:
        drawn.append(name)
        return theme.build([], theme.base_layout(200, title=name))

    sent = []
    monkeypatch.setattr(door, "_component", lambda **given: sent.append(parts(given["data"])[1]))
    for name, same in (("a", ("run", 1)), ("b", ("run", 1)), ("c", ("run", 2)), ("d", None), ("e", None)):
        door.figure(lambda name=name: draw(name), key="kept", alt="", height=200, same=same)
    assert drawn == ["a", "c", "d", "e"]
    assert [spec["layout"]["title"] for spec in sent] == ["a", "a", "c", "d", "e"]
