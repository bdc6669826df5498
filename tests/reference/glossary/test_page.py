"""The glossary page: filters in the address, links that hold, and terms that other pages link to."""

import ast
import re
from functools import partial
from pathlib import Path

import pytest

from pages.facts import pages, views_of_terms
from pages.reference import views as _views
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.visits import press, run, said
from tfcore.views.reference.glossary.measure import terms

opened = partial(visits.opened, "reference/glossary/page.py")
FILES = {key: page.file for key, page in pages().items()}
VIEWS = sorted(set(views_of_terms().values()))
SET = [view for view in VIEWS if "?" in view]
OF_TFCORE = Path(__file__).resolve().parents[3] / "tfcore" / "views"


def test_every_term_is_on_the_page_with_its_sentence():
    shown = "\n".join(element.value for element in opened().markdown)
    for term in terms().values():
        assert f"({views_of_terms()[term.name]})" in shown
        assert term.formula in shown


def test_a_link_opens_a_term_with_its_formula():
    test = opened(term="KV cache")
    assert test.subheader[0].value == "KV cache"
    assert [formula.value.strip("$\n") for formula in test.latex] == [terms()["KV cache"].formula]
    assert any(link.proto.page.startswith("kv-cache") for link in test.main if getattr(link, "type", "") == "page_link")


def test_a_word_and_a_letter_filter():
    test = opened(find="expert")
    assert 3 < len(test.selectbox(key="term").options) < len(terms())
    test.segmented_control(key="letter").set_value("C")
    assert all(name.startswith("c") for name in run(test).selectbox(key="term").options)
    test.text_input(key="find").set_value("no such term")
    assert "No term has all of this" in run(test).info[0].value


def test_buttons_choose():
    test = press(opened(find="zzz"), "try KV cache")
    assert test.subheader[0].value == "KV cache"


def test_every_term_is_shown_by_one_page():
    assert sorted(term for page in pages().values() for term in page.facts.terms) == sorted(terms())
    assert [view for view in VIEWS if not re.fullmatch(r"[a-z-]+(\?\w+=[\w+-]+(&\w+=[\w+-]+)*)?", view)] == []


@pytest.mark.parametrize("view", often(SET, SET[::4]))
def test_every_view_is_as_the_link_says(view):
    page, settings = _views.parts(view)
    assert "Corrected" not in said(visits.opened(FILES[page], **settings), "caption")


@nightly
def test_views_link_to_terms_that_there_are():
    calls = [
        keyword.value
        for file in OF_TFCORE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "View"
        for keyword in node.keywords
        if keyword.arg == "terms" and isinstance(keyword.value, ast.Tuple)
    ]
    named = {name for call in calls for name in ast.literal_eval(call)}
    assert len(calls) >= 8
    assert named <= set(terms())
