"""The foot of pages, presenting and the search: what the browser is told, and what may come back from it."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.ui import finder, links, shortcuts
from pages.ui.session import KEY
from tests.pages.visits import opened, press, run
from tfcore.views.reference.glossary.measure import terms


def told(test: AppTest) -> dict[str, Any]:
    """What the foot of the page was told."""
    found = [one for one in test.get("bidi_component") if one.proto.component_name.endswith("shortcuts")]
    keys, foot = (json.loads(one.proto.json) for one in found)
    assert (keys["part"], foot["part"]) == ("keys", "foot")
    assert keys["page"] == foot["page"]
    assert keys["see"] == "What to see."
    return dict(foot)


# --- what can be found -----------------------------------------------------------------------------------------------


def test_every_page_section_and_term_can_be_found_and_leads_to_a_page():
    found = finder.entries()
    every = pages()
    assert [one.page for one in found if one.kind == "page"] == list(every) == [one.page for one in found[: len(every)]]
    sections = [(one.page, one.title) for one in found if one.kind == "section"]
    assert sections == [(key, name) for key, page in every.items() for name in page.facts.sections.names.values()]
    assert {one.title for one in found if one.kind == "term"} == set(terms())
    assert {one.page for one in found} == set(every)


def test_examples_are_of_pages_and_sections_that_there_are():
    for key, by_section in finder.examples().items():
        assert set(by_section) <= set(pages()[key].facts.sections.names or [""]), key
        for names in by_section.values():
            assert len(names) == len(set(names))
    assert len([one for one in finder.entries() if one.kind == "example"]) > 500


def test_the_script_of_the_browser_has_the_same_in_the_same_order():
    begins, _, rest = finder.script().partition(" default ")
    assert begins == "export"
    assert [tuple(one) for one in json.loads(rest)] == [one[:4] for one in finder.entries()]
    assert len(finder.script()) < 100_000


# --- the foot --------------------------------------------------------------------------------------------------------


def test_the_foot_names_the_pages_before_and_after_in_the_order_of_the_sidebar():
    every = list(pages())
    said = told(opened("foundations/masks/page.py"))
    at = every.index("masks")
    assert (said["before"]["key"], said["after"]["key"]) == (every[at - 1], every[at + 1])
    assert finder.entries()[said["after"]["at"]].page == every[at + 1]


def test_it_knows_sections_and_examples_also_those_in_the_menu_of_more():
    said = told(opened("foundations/heads/page.py", show="why it looks there"))
    facts = pages()["heads"].facts
    assert said["sections"] == list(facts.sections.names.values())
    assert said["open"] == list(facts.sections.names).index("why")
    assert said["examples"]
    assert set(said["examples"]) <= set(finder.examples()["heads"]["why"])


def test_a_page_that_ends_early_has_a_foot_too():
    said = told(opened("foundations/heads/page.py", text=" "))
    assert said["page"] == "heads"


def test_what_a_presentation_is_remembered_by_is_no_part_of_a_view_one_goes_back_to():
    test = opened("foundations/masks/page.py", present="1", kind="sliding window")
    assert session_of(test).recent == {"masks": {"kind": "sliding window"}}


def session_of(test: AppTest) -> Any:
    return test.session_state[KEY]


# --- what the browser tells ------------------------------------------------------------------------------------------


def telling():
    import streamlit as st

    from pages.facts import pages
    from pages.ui import controls, links, notices, page, shortcuts
    from pages.ui.session import session

    url = st.session_state.get("url", "heads")
    links.arrive(url)
    with notices.whole_run():
        page.begin(pages()[url].facts)
        page.try_this({"three": {"head": 3}, "four": {"head": 4}})
        st.session_state["got"] = [
            controls.slider("Head", "head", 0, 7, 0),
            controls.sections(pages()[url].facts.sections),
        ]
    st.session_state["way"] = session().way
    st.button("tell", key="tell:button", on_click=shortcuts._heard, args=("told",))


@pytest.fixture
def page():
    """A function that tells a page something, and gives what its controls hold then, and where to go."""
    test = run(AppTest.from_function(telling, default_timeout=300))

    def tell(said: object) -> tuple[list[Any], int | None]:
        test.session_state["told"] = {"told": said}
        press(test, "tell")
        return test.session_state["got"], test.session_state["way"]

    return tell


def test_an_example_and_a_section_are_set_by_their_places(page):
    assert page(["example", 1]) == ([4, "heads"], None)
    assert page(["section", 1]) == ([4, "why"], None)
    assert page(["example", 0]) == ([3, "why"], None)
    assert page(["go", 7]) == ([3, "why"], 7)


def test_a_lesson_on_a_shelf_begins_at_its_first_stop(page):
    lesson = {"title": "Mine", "stops": [{"address": "masks?kind=causal", "note": "One."}]}
    assert page(["lesson", json.dumps(lesson)])[1] == shortcuts.LESSON


@pytest.mark.parametrize(
    "said",
    [
        *(None, "go", [], ["go"], ["go", -1], ["go", 10**9], ["go", "1"], ["go", 1.0], ["go", 1, 1], ["go", [1]]),
        *(["example", 2], ["example", -1], ["example", None], ["section", 99], ["section", -1], ["section", "why"]),
        *(["lesson"], ["lesson", 5], ["lesson", "{"], ["lesson", '{"stops": [{"address": "https://evil.example/x"}]}']),
        *({"go": 1}, ["<script>", 1], ["go", {"at": 1}], [["go"], 1]),
    ],
)
def test_what_is_no_place_does_nothing(page, said):
    assert page(said) == ([0, "heads"], None)


def test_where_a_visitor_wants_to_go_is_gone_to_once(monkeypatch):
    gone = []
    monkeypatch.setattr(links, "go", lambda file, view: gone.append((file, dict(view))))
    at = next(
        i for i, one in enumerate(finder.entries()) if one.kind == "section" and one.title == "why it looks there"
    )
    run(AppTest.from_function(going, default_timeout=300, kwargs={"at": at}))
    assert gone == [(pages()["heads"].file, {"show": "why it looks there"})]


def going(at: int):
    from pages.ui import shortcuts
    from pages.ui.session import session

    session().way = at
    shortcuts.go()
    shortcuts.go()
