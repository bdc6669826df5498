"""Controls hold a valid value for every address, and every change of another control."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from pages.ui import controls, former_labels


def app():
    import streamlit as st

    from pages.ui import controls, fragments, notices, page
    from tests.pages.ui.plain_facts import FACTS

    with notices.whole_run():
        page.begin(FACTS)
        big = controls.toggle("Big", "big")
        values = {
            "big": big,
            "head": controls.slider("Head", "head", 0, 11 if big else 7, 0),
            "temp": controls.slider("Temperature", "temp", 0.1, 2.0, 1.0, 0.1),
            "even": controls.slider("Even", "even", 2, 9, 4, 2),
            "kind": controls.select("Kind", "kind", ["sin", "rope"], "sin", {"sin": "Sinusoidal", "rope": "RoPE"}),
            "view": controls.segmented("View", "view", ["map", "lines"], "map"),
            "base": controls.select("Base", "base", [10, 100], 10),
            "text": controls.text_area("Text", "text", "The cat.", 50),
        }

        @fragments.fragment
        def inside():
            values["n"] = controls.slider("N", "n", 1, 64, 8)
            st.button("n=20", key="n20", on_click=controls.set_values, kwargs={"n": 20})

        inside()
        if values["kind"] == "rope":
            values["window"] = controls.slider("Window", "window", 1, 9, 2)
        examples = {
            "first": {"head": 3, "text": "It sat.", "kind": "rope", "window": 5},
            "second": {"big": True, "head": 11},
        }
        page.try_this(examples | {"wrong": {"head": "zz", "kind": 7, "text": 5, "base": [1]}})
    st.session_state["values"] = values
    st.session_state["said"] = notices.sentences()


def test_the_next_seed_is_the_first_after_the_last():
    assert [controls.next_seed(seed) for seed in (0, 19, 20)] == [1, 20, 0]
    assert [controls.next_seed(seed, 9) for seed in (8, 9)] == [9, 0]


def test_places_begin_at_the_last_where_there_are_fewer(monkeypatch):
    monkeypatch.setattr(controls, "slider", lambda *given: given)
    for default, begin in ((9, 3), (3, 3), (2, 2)):
        assert controls.place("Head", "head", 4, default) == ("Head", "head", 0, 3, begin)
    assert controls.place("Head", "head", 1) == ("Head", "head", 0, 0, 0)


DEFAULTS = {
    "big": False,
    "head": 0,
    "temp": 1.0,
    "even": 4,
    "kind": "sin",
    "view": "map",
    "base": 10,
    "text": "The cat.",
    "n": 8,
}


def opened(**address: str | list[str]) -> AppTest:
    test = AppTest.from_function(app, default_timeout=30)
    test.query_params.update(address)
    return run(test)


def run(test) -> AppTest:
    """Run the app, or a widget of it that was changed."""
    test = test.run()
    assert not test.exception, test.exception
    return test


def values(test: AppTest) -> dict:
    """What the page computed with; the widgets must show the same."""
    found = test.session_state["values"]
    for widgets in (test.slider, test.toggle, test.selectbox, test.text_area):
        for widget in widgets:
            wanted = found[widget.key]
            assert widget.value == (pytest.approx(wanted) if widget.key == "temp" else wanted), widget.key
    assert test.session_state["view"] == found["view"]
    return found


@pytest.mark.parametrize(
    ("address", "expected", "notice"),
    [
        ({}, {}, None),
        ({"head": "5"}, {"head": 5}, None),
        ({"head": "99"}, {"head": 7}, "head 99 → 7"),
        ({"head": "-1"}, {"head": 0}, r"head \-1 → 0"),
        ({"head": "abc"}, {"head": 0}, "head abc → 0"),
        ({"head": ""}, {"head": 0}, r"head (empty) → 0"),
        ({"head": "3.6"}, {"head": 4}, r"head 3\.6 → 4"),
        ({"head": ["1", "2"]}, {"head": 2}, None),
        ({"n": "1e999"}, {"n": 64}, "n 1e999 → 64"),
        ({"n": "-inf"}, {"n": 1}, "→ 1"),
        ({"n": "nan"}, {"n": 8}, "n nan → 8"),
        ({"n": "9" * 5000}, {"n": 64}, "9…"),
        ({"head": "😀\x00\u202e"}, {"head": 0}, r"␀\[U\+202E\] → 0"),
        ({"temp": "0.333"}, {"temp": 0.3}, "temp"),
        ({"temp": "0.30000000000000004"}, {"temp": 0.3}, None),
        ({"even": "5"}, {"even": 6}, "even 5 → 6"),
        ({"even": "9"}, {"even": 8}, "even 9 → 8"),
        ({"kind": "RoPE"}, {"kind": "rope", "window": 2}, None),
        ({"kind": "rope"}, {"kind": "rope", "window": 2}, None),
        ({"kind": "RoPE", "window": "77"}, {"kind": "rope", "window": 9}, "window 77 → 9"),
        ({"kind": "*bold*"}, {"kind": "sin"}, r"kind \*bold\* → Sinusoidal"),
        ({"base": "100"}, {"base": 100}, None),
        ({"view": "lines"}, {"view": "lines"}, None),
        ({"view": ["lines", "zz"]}, {"view": "map"}, "view zz → map"),
        ({"big": "true", "head": "11"}, {"big": True, "head": 11}, None),
        ({"big": "YES", "head": "11"}, {"big": True, "head": 11}, None),
        ({"big": "maybe"}, {"big": False}, "big maybe → false"),
        ({"text": ""}, {"text": ""}, None),
        ({"text": "\x00\u202e<script>$x$"}, {"text": "\x00\u202e<script>$x$"}, None),
        ({"text": "x" * 100_000}, {"text": "x" * 50}, "more than the 50 used here"),
        ({"z": "AAAA"}, {}, "The text in this link is damaged"),
        ({"z": "é%"}, {}, "The text in this link is damaged"),
        ({"v": "7"}, {}, "This link has version 7"),
        ({"v": "1"}, {}, None),
        ({"unknown": "1", "ünï": "\x00", "": "x"}, {}, None),
    ],
)
def test_every_address_gives_valid_values_and_at_most_a_notice(address, expected, notice):
    test = opened(**address)
    assert values(test) == DEFAULTS | expected
    said = " ".join(test.session_state["said"])
    assert notice in said if notice else not said


def test_all_corrections_share_one_line():
    test = opened(head="99", temp="x", view="zz")
    assert test.session_state["said"] == [r"Corrected from the link: head 99 → 7, temp x → 1\.0, view zz → map."]
    assert sum("Corrected" in caption.value for caption in test.caption) == 1


def test_a_notice_stays_until_its_control_moves():
    test = opened(head="99")
    run(test.slider(key="n").set_value(9))
    assert test.session_state["said"]
    run(test.slider(key="head").set_value(2))
    assert not test.session_state["said"]
    assert not any("Corrected" in caption.value for caption in test.caption)


def test_a_range_that_shrinks_clamps():
    test = opened(big="true", head="11")
    run(test.toggle(key="big").set_value(False))
    assert values(test)["head"] == 7
    assert test.session_state["said"] == ["Adjusted to what is possible: head 11 → 7."]


def test_a_button_sets_several_controls_at_once_and_the_text():
    test = opened(head="6")
    run(test.button(key="try first:button").click())
    assert values(test) == DEFAULTS | {"head": 3, "text": "It sat.", "kind": "rope", "window": 5}
    assert test.query_params["text"] == "It sat."
    assert not test.session_state["said"]


def test_a_button_may_set_a_value_that_another_of_its_values_makes_possible():
    test = opened(head="6")
    run(test.button(key="try second:button").click())
    assert values(test) == DEFAULTS | {"big": True, "head": 11}


def test_a_callback_with_nonsense_is_corrected_too():
    test = opened()
    run(test.button(key="try wrong:button").click())
    assert values(test) == DEFAULTS | {"text": "5"}
    assert "Adjusted" in test.session_state["said"][0]


def test_in_a_fragment():
    test = opened(n="30")
    assert values(test)["n"] == 30
    run(test.button(key="n20").click())
    assert values(test)["n"] == 20


def test_the_persons_own_change_wins_over_the_address():
    test = opened(head="6", text="from the link")
    run(test.slider(key="head").set_value(2))
    run(test.text_area(key="text").set_value("mine"))
    assert values(test) == DEFAULTS | {"head": 2, "text": "mine"}


def test_long_text_is_cut_and_said_until_it_changes():
    test = opened()
    run(test.text_area(key="text").set_value("y" * 100_000))
    assert values(test)["text"] == "y" * 50
    assert "100,000 characters, more than the 50" in test.session_state["said"][0]
    run(test.slider(key="n").set_value(9))
    assert test.session_state["said"]
    run(test.text_area(key="text").set_value("short"))
    assert not test.session_state["said"]


def test_a_box_says_that_special_tokens_are_read_as_text_while_it_holds_one():
    said = "Special tokens that are typed are read as text like any other: "
    test = opened()
    for typed, named in {
        "<|im_start|>user <|eot_id|>": "<|im\\_start|>, <|eot\\_id|>",
        "a</s> [SEP]": "</s>, [SEP]",
        "<start_of_turn>": "<start\\_of\\_turn>",
    }.items():
        run(test.text_area(key="text").set_value(typed))
        plain = [sentence.replace("\\", "") for sentence in test.session_state["said"]]
        assert plain == [said + named.replace("\\", "") + "."], typed
    for typed in ("a < b | c > d", "a [MASK] b, <extra_id_0>", "<b>bold</b>"):
        run(test.text_area(key="text").set_value(typed))
        assert not test.session_state["said"], typed


def test_a_slider_with_one_possible_value():
    def one():
        import streamlit as st

        from pages.ui import controls

        st.session_state["got"] = controls.slider("Head", "head", 0, 0, 0)

    test = AppTest.from_function(one, default_timeout=30)
    test.query_params["head"] = "5"
    assert run(test).session_state["got"] == 0


words = st.one_of(
    st.sampled_from(
        ["", "0", "7", "8", "-1", "1e999", "nan", "0.3", "true", "RoPE", "rope", "lines", "100", "AAAA", "[]"]
    ),
    st.text(max_size=20),
)
names = st.sampled_from([*DEFAULTS, "window", "z", "v", "embed", "x"])


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(names, st.lists(words, min_size=1, max_size=3), max_size=6))
def test_any_address_runs_without_an_exception(address):
    found = values(opened(**{key: [w.encode("utf-8", "replace").decode() for w in ws] for key, ws in address.items()}))
    assert found["head"] in range(12 if found["big"] else 8)
    assert found["even"] in (2, 4, 6, 8)
    assert found["kind"] in ("sin", "rope")
    assert 0.1 <= found["temp"] <= 2.0
    assert len(found["text"]) <= 50


def renaming():
    import streamlit as st

    from pages.ui import controls, notices, page
    from tests.pages.ui.plain_facts import FACTS

    page.begin(FACTS)
    n = controls.slider("N", "n", 1, 9, 1)
    st.session_state["which"] = controls.select("Which", "item", [0, 1, 2], 0, {i: f"{i} of {n}" for i in range(3)})
    st.session_state["corrected"] = len(notices.sentences())


def test_new_labels_of_the_same_choice_are_told_once():
    test = run(AppTest.from_function(renaming, default_timeout=60))
    run(test.selectbox(key="item").set_value(1))
    assert not test.selectbox(key="item").proto.set_value
    run(test.slider(key="n").set_value(5))
    assert test.selectbox(key="item").proto.set_value
    assert test.selectbox(key="item").proto.raw_value == "1 of 5"
    assert not run(test).selectbox(key="item").proto.set_value


def test_a_choice_said_in_labels_of_before_is_kept(monkeypatch):
    """Two quick changes: with the second the browser sends the old label of a choice, for it has seen no other yet."""
    test = run(AppTest.from_function(renaming, default_timeout=60))
    run(test.selectbox(key="item").set_value(1))
    run(test.slider(key="n").set_value(5))
    test.selectbox(key="item").options = ["0 of 1", "1 of 1", "2 of 1"]
    with monkeypatch.context() as patch:
        patch.setattr(Selectbox, "index", 1)
        run(test.slider(key="n").set_value(6))
    assert test.session_state["which"] == 1
    assert test.selectbox(key="item").proto.raw_value == "1 of 6"
    assert test.session_state["corrected"] == 0


def test_a_label_of_an_earlier_release_means_what_it_meant(monkeypatch):
    monkeypatch.setitem(former_labels.FORMER, "kind", {"Turned": "RoPE"})
    test = opened(kind="turned")
    assert values(test)["kind"] == "rope"
    assert not test.session_state["said"]


@pytest.mark.parametrize(("default", "step"), [(-1, 1), (9, 1), (3, 2)])
def test_a_slider_that_could_not_begin_there_is_an_error_of_the_page(default, step):
    with pytest.raises(ValueError, match=rf"'of_three' cannot begin at {default}: from 0 by {step} to 8"):
        controls.slider("Of three", "of_three", 0, 8, default, step)


def test_a_choice_begins_with_one_of_its_options():
    with pytest.raises(ValueError, match="'side' cannot begin with 'top'"):
        controls.segmented("Side", "side", ["left", "right"], "top")


def of_all_kinds():
    """A control of one kind under the name that others have on other pages."""
    import streamlit as st

    from pages.ui import controls, links, notices, page
    from pages.ui.components import dragging
    from tests.pages.ui.plain_facts import FACTS

    place, kind = st.session_state["at"]
    links.arrive(place)
    draw = {
        "slider": lambda: controls.slider("X", "x", 0, 9, 0),
        "toggle": lambda: controls.toggle("X", "x"),
        "select": lambda: controls.select("X", "x", [0, 1, 2], 0),
        "words": lambda: controls.segmented("X", "x", ["0", "1", "true"], "0"),
        "several": lambda: controls.several("X", "x", ["1", "2", "x"]),
        "text": lambda: controls.text_area("X", "x", "nothing", 50),
        "dragged": lambda: dragging.read("x", "0_0", lambda said: (str(said), said in ("0_0", "1_1")), str),
    }
    with notices.whole_run():
        page.begin(FACTS)
        if "put" in st.session_state:
            controls.set_values(x=st.session_state.pop("put"))
        st.session_state["got"] = draw[kind]()
    st.session_state["said"] = notices.sentences()


BEGINS = {
    "slider": (0, 1),
    "toggle": (False, True),
    "select": (0, 1),
    "words": ("0", "true"),
    "several": (("1", "2", "x"), ["x"]),
    "text": ("nothing", "1"),
    "dragged": ("0_0", "1_1"),
}
CHOICES = {"select", "words"}


@pytest.mark.parametrize("kind", BEGINS)
def test_a_control_begins_anew_where_one_of_another_kind_had_its_name(kind):
    """Whatever that one held; and what one of its own kind held goes along."""
    for before, (_, held) in BEGINS.items():
        test = AppTest.from_function(of_all_kinds, default_timeout=30)
        test.session_state["at"], test.session_state["put"] = ("first", before), held
        run(test)
        assert test.session_state["got"] == (tuple(held) if before == "several" else held)
        test.query_params.clear()
        test.session_state["at"] = ("second", kind)
        run(test)
        begins, other = BEGINS[kind]
        same = before == kind
        expected = (tuple(other) if kind == "several" else other) if same else begins
        if not same and {before, kind} <= CHOICES:  # a choice of the same words may go along
            continue
        assert (before, test.session_state["got"]) == (before, expected)
        assert test.session_state["said"] == []


def of_a_text():
    import streamlit as st

    from pages.ui import controls, notices, page
    from tests.pages.ui.plain_facts import FACTS

    with notices.whole_run():
        page.begin(FACTS)
        text = controls.text_area("Text", "text", "a b c d e", 50)
        words = tuple(text.split())
        st.session_state["values"] = {"token": controls.place("Token", "token", len(words), 1, of=words)}
        page.try_this({"short": {"text": "x y", "token": 0}, "long": {"text": "1 2 3 4 5 6 7"}})
    st.session_state["said"] = notices.sentences()


def token(test: AppTest) -> int:
    """The place that is chosen, which the slider shows, too."""
    found = test.session_state["values"]["token"]
    assert test.slider(key="token").value == found
    return found


def test_a_new_text_selects_its_last_token():
    test = run(AppTest.from_function(of_a_text))
    assert token(test) == 1
    run(test.slider(key="token").set_value(3))
    run(test.text_area(key="text").set_value("f g h"))
    assert token(test) == 2
    assert test.session_state["said"] == []
    run(test.text_area(key="text").set_value("f g h i j k"))
    assert token(test) == 5
    run(test.button(key="try short:button").click())
    assert token(test) == 0, "an example says which"
    run(test.button(key="try long:button").click())
    assert token(test) == 6
    assert "6" in test.query_params["token"]


def test_a_place_in_the_address_counts_for_the_text_beside_it():
    test = AppTest.from_function(of_a_text)
    test.query_params.update({"text": "a b c d e f g h", "token": "4"})
    assert token(run(test)) == 4


def test_a_notice_goes_when_what_it_spoke_of_is_gone():
    test = opened(big="true", head="11")
    run(test.toggle(key="big").set_value(False))
    assert test.session_state["said"]
    run(test.toggle(key="big").set_value(True))
    assert not test.session_state["said"]
