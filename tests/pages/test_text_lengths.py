"""A text of which a page uses only a part: the page says so, as long as the box with that text is there. And a text of
one token, with every choice there is."""

from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.ui.work import jobs
from tests.nightly import nightly, often
from tests.pages.visits import address, opened, run, said
from tfcore.measures import one_text

pytestmark = pytest.mark.usefixtures("short", "patience")

LONG = " ".join(map(str, range(1, 600)))  # two tokens or more a word
SAYS = ("tokens; the", "tokens are used", "are left out", "characters are used", "tokens are drawn", "is used here")
FILES = [page.file for page in pages().values()]

OFTEN = ("foundations/masks/page.py",)
TOKEN = "a"


@pytest.fixture
def cut(monkeypatch) -> set[str]:
    """The texts of which only a part was read."""
    found, present = set(), [""]
    encoded, shortened = one_text.encoded, one_text.shortened

    def noted(model, tokenizer, text, bos=None):
        present[0] = text
        return encoded(model, tokenizer, text, bos)

    def cutting(tokenizer, ids, most, *more):
        if len(ids) > most:
            found.add(present[0])
        return shortened(tokenizer, ids, most, *more)

    monkeypatch.setattr(one_text, "encoded", noted)
    monkeypatch.setattr(one_text, "shortened", cutting)
    return found


def sections(file: str) -> Iterator[AppTest]:
    """A page with every choice in sight of each of its sections."""
    todo, done = [{}], set[tuple[str, str]]()
    while todo:
        address = todo.pop()
        test = opened(file, **address)
        yield test
        for one in test.segmented_control:
            for option in one.options:
                if one.key and (one.key, option) not in done:
                    done.add((one.key, option))
                    todo.append({**address, one.key: option})


@pytest.mark.parametrize("file", often(FILES, OFTEN))
def test_every_page_says_what_it_does_not_read(file, cut):
    for test in sections(file):
        for key in [box.key for box in (*test.text_area, *test.text_input)]:
            page = opened(file, **{name: address(test, name) for name in test.query_params})
            boxes = [box for box in (*page.text_area, *page.text_input) if box.key == key]
            if not boxes:
                continue
            boxes[0].set_value(LONG)
            cut.clear()
            words = said(run(page), "caption", "info", "warning", "markdown")
            if any(text and text in LONG for text in cut):
                assert any(one in words for one in SAYS), (key, page.query_params, words)


@nightly
@pytest.mark.parametrize("file", FILES)
def test_one_token_with_every_choice(file):
    """Nothing comes after it, nothing before it, and some quantities are constant."""
    todo, done = [(None, None, {})], set[tuple[str, str]]()
    while todo:
        key, value, before = todo.pop()
        jobs.JOBS.close()
        test = opened(file, **before)
        choice = next((one for one in choosers(test) if one.key == key and value in one.options), None)
        if choice is not None:
            run(choice.set_value(value))
        for box in [box.key for box in test.text_area if box.key and not box.disabled]:
            for one in [one for one in test.text_area if one.key == box and one.value != TOKEN]:
                one.set_value(TOKEN)
                run(test)
        here = {name: address(test, name) for name in test.query_params}
        for one in choosers(test):
            fresh = [option for option in one.options if (one.key, option) not in done and option != one.value]
            done |= {(one.key, option) for option in one.options}
            todo += [(one.key, option, here) for option in fresh[:8]]


def choosers(test: AppTest) -> list[Any]:
    """The controls in sight that offer a choice."""
    return [one for one in (*test.segmented_control, *test.selectbox) if one.key]


def test_what_was_said_of_a_text_goes_with_its_box():
    test = opened("inference/quantisation/page.py", look="KV cache", text=LONG)
    assert "tokens; the first 48 are used here" in said(test, "caption")
    test.segmented_control(key="look").set_value("row")
    assert "are used here" not in said(run(test), "caption")


@pytest.mark.parametrize(
    ("file", "address", "end"),
    [
        ("inference/quantisation/page.py", {"look": "cache", "text": LONG}, "first"),
        ("inference/quantisation/page.py", {"look": "outliers", "text": LONG}, "first"),
        ("inference/long_context/page.py", {"look": "patterns", "text": LONG}, "first"),
        ("foundations/positions/page.py", {"scheme": "together", "said": LONG}, "first"),
        ("foundations/heads/page.py", {"show": "compare", "with": "text", "text2": LONG}, "last"),
        ("block/normalisation/page.py", {"part": "Which axis", "texts": LONG[:300]}, "first"),
        ("inside/flow/page.py", {"text": LONG}, "last"),
        ("inside/stream/page.py", {"text": LONG}, "last"),
        ("inside/interventions/page.py", {"text": LONG}, "last"),
        ("inside/induction/page.py", {"text_is": "once", "text": LONG}, "last"),
    ],
)
def test_sections_that_once_were_silent(file, address, end):
    assert f"tokens; the {end}" in said(opened(file, **address), "caption")
