"""A preview of a link to a view says what the view said when it was last shown here, nothing that is a visitor's."""

from urllib.parse import parse_qsl

import plotly.graph_objects as go
import pytest

from pages.ui import links
from pages.ui.server import previews, seen
from tests.pages.figures import heads
from tests.pages.ui.server.test_previews import Head
from tests.pages.visits import opened
from tfcore.views.finding import state
from tfcore.views.view import View

HEADS = "foundations/heads/page.py"


@pytest.fixture(autouse=True)
def _nothing_yet(monkeypatch):
    monkeypatch.setattr(seen, "_said", type(seen._said)())


def said(link: str) -> str:
    url, _, query = link.partition("?")
    return seen.said(url, parse_qsl(query, keep_blank_values=True))


def test_a_link_says_what_its_view_said():
    assert said("masks?kind=sliding+window") == ""
    shown = heads(opened("foundations/masks/page.py", kind="sliding window"))["mask"]
    sentence = said("masks?kind=sliding+window")
    assert sentence.startswith("The mask: sliding window: ")
    assert sentence.partition(": ")[2].removesuffix(" ...") in shown["caption"]
    assert said("masks?kind=sliding+window&v=3") == sentence  # with the version of a copied link
    assert said("masks?kind=prefix") == said("heads?kind=window") == ""
    assert Head(previews.html("masks", None, said=sentence)).meta["og:description"] == sentence


def test_another_view_of_the_same_address_does_not_take_its_place():
    opened(HEADS, layer="2")
    before = dict(seen._said)
    opened(HEADS, layer="2")
    assert dict(seen._said) == before


@pytest.mark.parametrize(
    ("file", "address"),
    [
        (HEADS, {"text": "what nobody else is to know"}),
        (HEADS, {"z": links.pack("what nobody else is to know, and long")}),
        ("block/pitfalls/page.py", {}),
    ],
)
def test_nothing_is_left_of_a_visitors_text_or_of_a_training(file, address):
    opened(file, **address)
    assert not seen._said


def test_those_shown_longest_ago_go_first(monkeypatch):
    monkeypatch.setattr(seen, "MANY", 2)
    for layer in "012":
        opened(HEADS, layer=layer)
    assert len(seen._said) == 2
    assert said("heads?layer=2")
    assert not said("heads?layer=0")


def test_a_preview_is_a_line_of_whole_words():
    long = " ".join(["word"] * 90)
    view = View(key="k", title="A title", result=None, chart=go.Figure(), findings=(state("long", long),))
    assert view.preview.startswith("A title: word word")
    assert view.preview.endswith("word ...")
    assert len(view.preview) <= 200
