"""The row of what is worth seeing in a text: buttons for what the page shows, links to the pages that show the rest."""

from urllib.parse import parse_qsl

import pytest

from pages.ui.in_your_text import HEADS, STREAM, view_of
from tests.pages import visits
from tests.pages.visits import plain, run
from tfcore.views.highlights import Chip, chips, highlights_of
from tfcore.views.sources import Reading

DOGS = "Max had a red ball. One day the little dog lost the red"


def buttons(test):
    return {plain(one.key): one for one in test.button if plain(one.key).startswith("found ")}


def links(test):
    return {one.proto.label: one.proto for one in test.get("page_link")}


def test_a_link_between_words_sets_the_head_that_has_it():
    test = visits.opened("foundations/heads/page.py", text=DOGS)
    first = chips(highlights_of(Reading("stories", DOGS)))[0]
    assert first.kind == "link"
    buttons(test)["found 0"].click()
    run(test)
    assert [test.slider(key=key).value for key in ("layer", "head", "token")] == [first.layer, first.head, first.token]
    assert test.toggle(key="hide").value


def test_another_page_has_links_that_say_the_whole_view():
    test = visits.opened("foundations/heads/page.py", text=DOGS, bos="with")
    first = next(one for one in chips(highlights_of(Reading("stories", DOGS, bos=True))) if one.kind == "decision")
    (link,) = [proto for label, proto in links(test).items() if "is decided in layer" in label]
    said = dict(parse_qsl(link.query_string))
    known = {"model": "stories", "text": DOGS, "bos": "with", "show": "Logit lens", "position": str(first.token)}
    assert {key: said[key] for key in known} == known
    assert link.page == "stream"


@pytest.mark.parametrize("text", ["<b>$x$</b> :red[a] <b>$x$</b> :red[a] *c*", "a"])
def test_hostile_words_are_shown_as_they_are(text):
    test = visits.opened("foundations/heads/page.py", text=text)
    for one in buttons(test).values():
        assert ":red[" not in one.label
        assert "$x$" not in one.label


def test_a_text_without_links_says_so():
    test = visits.opened("foundations/heads/page.py", text="a")
    assert "No head of this model links words of this text above 0.2" in visits.said(test, "caption")


@pytest.mark.parametrize(
    ("chip", "file", "values"),
    [
        (Chip("link", "", 1, 2, 9, 4), HEADS, {"layer": 1, "head": 2, "token": 9, "hide": True}),
        (Chip("repeated", "", 1, 2, 9, 4), HEADS, {"layer": 1, "head": 2, "token": 9, "hide": True}),
        (Chip("repeated", "", None, None, 9, 4), STREAM, {"position": 9}),
        (Chip("surprise", "", None, None, 3, 4), STREAM, {"position": 3}),
        (Chip("decision", "", 3, 1, 7), STREAM, {"position": 7}),
    ],
)
def test_each_kind_has_its_page(chip, file, values):
    assert view_of(chip) == (file, values)
