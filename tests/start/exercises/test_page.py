"""The page of exercises: all seventeen with links both ways, what is asked, hints, the solution and the notebook."""

from functools import partial

import pytest

from pages.facts import pages
from pages.ui import exercise_links
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.visits import said
from tfcore.exercises import EXERCISES
from tfcore.exercises.exercise import source

opened = partial(visits.opened, "start/exercises/page.py")


@pytest.fixture(scope="module")
def first():
    return opened()


def test_all_are_listed_with_a_link_to_their_page(first):
    shown = said(first, "markdown")
    for key, one in EXERCISES.items():
        assert f"`{key}`" in shown
        assert one.asks in shown.replace("\\", "")
        assert f"]({one.page})" in shown


def test_an_exercise_has_its_statement_hints_and_solution(first):
    one = EXERCISES["attention"]
    codes = [element.value for element in first.code]
    assert one.stub in codes or one.stub.rstrip() in codes
    assert any(code.rstrip() == source(one.solution).rstrip() for code in codes)
    names = [expander.label for expander in first.expander]
    assert [name for name in names if name.startswith("Hint")] == ["Hint 1", "Hint 2", "Hint 3"]
    assert {"Solution", "What must be true of it", "Usual mistakes, and what the check says"} <= {*names}
    assert "arXiv:1706.03762" in said(first, "markdown")


def test_pages_link_back_to_their_exercise():
    back = {key: exercise_links.of_page(key) for key in pages()}
    assert {name for names in back.values() for name in names} == {*EXERCISES}
    assert back["masks"] == {"causal_weights": "Causal mask"}
    assert back["glossary"] == {}


@pytest.mark.parametrize("key", often(EXERCISES, ["patched_run"]))
def test_each_is_reached_by_its_address(key):
    test = opened(exercise=key)
    assert test.selectbox(key="exercise").value == key
    assert EXERCISES[key].asks in said(test, "markdown").replace("\\", "")


@nightly
def test_a_drawer_has_the_link():
    test = visits.opened("foundations/masks/page.py")
    labels = [tab.label for tab in test.tabs]
    assert "Exercise" in labels
