"""Another text or another model beside what a page shows: flow, stream and generation do it by the same controls."""

import pytest

from tests.pages.figures import figures, scenes
from tests.pages.visits import opened, said

TEXT = "When Mary and John went home, Mary gave"
PAGES = {"generation": "inference/generation/page.py", "stream": "inside/stream/page.py", "flow": "inside/flow/page.py"}


def shown(page, **address):
    return opened(PAGES[page], model="stories", text=TEXT, **address)


def test_nothing_stands_beside_at_first():
    test = shown("generation")
    assert "beside" not in figures(test)
    assert "text2" not in [box.key for box in test.text_area]


def test_the_other_text_begins_with_one_word_replaced():
    test = shown("generation", **{"with": "another text"})
    other = test.text_area(key="text2").value
    assert sum(a != b for a, b in zip(other.split(), TEXT.split(), strict=True)) == 1
    assert "for this text" in figures(test)["beside"][0]["caption"]


@pytest.mark.parametrize(
    ("section", "key"), [("Logit lens", "lens-beside"), ("Direct logit attribution", "parts-beside")]
)
def test_the_stream_has_the_same_token_in_both(section, key):
    test = shown("stream", show=section, text2="When Lily and Tom went home, Lily gave", **{"with": "another text"})
    assert "for the other text" in figures(test)[key][0]["caption"]
    other = shown("stream", show=section, model2="stories-learned", **{"with": "another model"})
    assert "for stories-learned" in figures(other)[key][0]["caption"]


def test_the_flow_has_a_second_river():
    test = shown("flow", text2="When Lily and Tom went home, Lily gave", **{"with": "another text"})
    first, second = scenes(test, "river")
    assert "·Mary" in first["tokens"]
    assert "·Lily" in second["tokens"]
    assert "heads that carry most for this text" in second["caption"]
    (alone,) = scenes(shown("flow"), "river")
    assert alone["tokens"] == first["tokens"]


@pytest.mark.parametrize("page", PAGES)
def test_without_another_text_the_page_says_so(page):
    test = shown(page, text2=" ", **{"with": "another text"})
    assert "There is no other text yet" in said(test, "info")
    assert not test.exception
