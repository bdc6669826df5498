"""The menu beside the title: settings begin anew, and the button knows which texts are the visitor's own."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import links
from tests.pages.visits import opened, press, run


def app():
    import streamlit as st

    from pages.ui import controls, links, notices, page
    from pages.ui.server import view_menu
    from tests.pages.ui.plain_facts import FACTS

    links.arrive("heads")
    with notices.whole_run():
        page.begin(FACTS)
        page.try_this({"it": {"text": "It sat.", "head": 3}})
        st.session_state["got"] = [
            controls.slider("Head", "head", 0, 11, 2),
            controls.toggle("Big", "big"),
            controls.select("Kind", "kind", ["a", "b"], "a"),
            controls.several("Shown", "shown", ["x", "y"]),
            controls.text_area("Text", "text", "The cat.", 50),
            controls.text_line("Name", "name", "one", 20),
        ]
        st.button("Anew", key="anew:button", on_click=view_menu.begin_anew)
        view_menu.tell()
    st.session_state["said"] = notices.sentences()


BEGIN = [2, False, "a", ("x", "y"), "The cat.", "one"]
ADDRESS = {"head": "99", "big": "true", "kind": "b", "shown": "y", "text": "my own words", "name": "two"}


def test_the_settings_of_a_page_begin_anew():
    test = AppTest.from_function(app, default_timeout=30)
    test.query_params.update(ADDRESS)
    run(test)
    assert test.session_state["got"] == [11, True, "b", ("y",), "my own words", "two"]
    assert test.session_state["said"]
    press(test, "anew")
    assert test.session_state["got"] == BEGIN
    assert (test.session_state["said"], dict(test.query_params)) == ([], {})
    assert (test.slider[0].value, test.text_area[0].value, test.text_input[0].value) == (2, "The cat.", "one")
    run(test.slider(key="head").set_value(5))
    assert test.session_state["got"] == [5, *BEGIN[1:]]


def told(test: AppTest) -> dict:
    """What the button was told at the end of the run."""
    [found] = [one for one in test.get("bidi_component") if one.proto.component_name.endswith("view_told")]
    return json.loads(found.proto.json)


def test_the_button_is_told_which_texts_are_examples():
    test = AppTest.from_function(app, default_timeout=30)
    assert told(run(test)) == {"names": ["text", "z"], "examples": [["text", "It sat."]], "model": None}


@pytest.mark.parametrize("file", ["foundations/heads/page.py", "block/normalisation/page.py"])
def test_a_page_tells_its_examples_and_its_model(file):
    found = told(opened(file))
    name = "text" if "heads" in file else "numbers"
    assert name in found["names"]
    assert any(example == name for example, _ in found["examples"])
    assert found["model"] == ("stories" if "heads" in file else None)


def test_a_long_example_is_told_as_an_address_says_it():
    text = "a b " * 1_000
    assert links.text_parameters("text", text) == {"z": links.pack(text)}
    assert set(links.text_parameters("numbers", text)) <= set(links.text_names("numbers"))
