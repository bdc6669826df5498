"""The page that compares two models: every section, pairs that cannot be compared, and what an address says."""

from functools import partial

import pytest

from tests.pages import visits
from tests.pages.figures import figures

opened = partial(visits.opened, "model/compare/page.py")
STORY = "Max had a red ball. One day Max lost the red ball."
OF = {"model": "stories", "text": STORY}


def keys(test):
    return set(figures(test))


@pytest.mark.parametrize(
    ("look", "drawn"),
    [
        ("Tokens", {"tokens", "next"}),
        ("Heads", {"heads", "first", "second"}),
        ("Weights", {"moved", "ranks"}),
        ("Layers", {"streams"}),
    ],
)
def test_every_section_of_a_tuned_model(look, drawn):
    test = opened(look=look, other="stories@play", **OF)
    assert drawn <= keys(test)
    assert test.selectbox(key="other").options[0] == "stories tuned on a play (LoRA)"


def test_other_vocabularies_are_compared_by_characters():
    test = opened(other="induction", **OF)
    assert "spans" in keys(test)
    assert any("different vocabularies" in one.value for one in test.caption)
    for look in ("Heads", "Weights", "Layers"):
        test = opened(look=look, other="induction", **OF)
        assert not keys(test)
        assert len(test.info) == 1


def test_a_model_begins_with_what_is_made_of_it():
    assert opened(**OF).selectbox(key="other").value == "stories@play"
    assert opened(model="induction", text=STORY).selectbox(key="other").value == "induction@300"
    assert opened(model="induction@300", text=STORY).selectbox(key="other").value == "induction@0"


def test_a_token_with_the_largest_divergence_is_looked_at_first():
    test = opened(other="stories@play", **OF)
    head, _ = figures(test)["tokens"]
    assert test.slider(key="token").value > 0
    assert "KL(stories ‖ stories tuned on a play (LoRA))" in head["caption"]


def test_a_text_of_one_token():
    assert {"tokens", "next"} <= keys(opened(model="stories", text="a"))
    assert {"heads", "first", "second"} <= keys(opened(model="stories", text="a", look="Heads"))
    assert "streams" in keys(opened(model="stories", text="a", look="Layers"))
