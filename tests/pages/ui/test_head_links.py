"""Links to one head on a text: they open on the same cell, and only a click on a cell where the head looks leads on."""

import numpy as np
import pytest
import torch

from pages.ui import cache, head_links, links
from pages.ui.head_links import HeadOfText
from tests.pages import visits
from tests.pages.figures import figures
from tfcore.views.foundations.heads.measure.score_parts import score_parts
from tfcore.views.foundations.heads.measure.score_writers import stream_pass

TEXT = "Sam was a little boy. One day, Sam said that"
WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.6, 0.1, 0.3]])


@pytest.fixture
def gone(monkeypatch) -> list[dict[str, str]]:
    """Where clicks have led."""
    found: list[dict[str, str]] = []
    monkeypatch.setattr(links, "go", lambda file, view: found.append({"": file, **view}))
    return found


@pytest.mark.parametrize(
    ("event", "leads"),
    [
        ({"x": 0, "y": 2}, ("2", "0")),
        ({"x": 1, "y": 1}, ("1", "1")),
        ({"x": 2, "y": 1}, None),  # blocked
        ({"x": -1, "y": 2}, None),
        ({"x": 0, "y": 3}, None),
        ({"x": "0", "y": 2}, None),
        ({"x": None, "y": None}, None),
    ],
)
def test_a_click_leads_to_its_cell(event, leads, gone):
    at = HeadOfText("stories", TEXT, 2, 5, bos=False)
    assert head_links.on_cell(None, WEIGHTS) is None
    click = head_links.on_cell(at, WEIGHTS)
    assert click is not None
    click({"curve": 0, "point": 0, "customdata": None, **event})
    if leads is None:
        assert gone == []
        return
    assert (gone[0]["token"], gone[0]["key"]) == leads
    same = {"": head_links.FILE, "model": "stories", "layer": "2", "head": "5", "bos": "without", "text": TEXT}
    assert gone[0].items() >= same.items()


def test_the_link_for_the_keyboard_names_the_strongest_pair(monkeypatch):
    made = []
    monkeypatch.setattr(links, "to", lambda _, view, label, __: made.append((view["token"], view["key"], label)))
    HeadOfText("stories", TEXT, 2, 5).link_strongest(WEIGHTS, [" a", "*b", "c"], [" a", "*b", "c"])
    [(query, key, label)] = made
    assert (query, key) == ("2", "0")
    assert label.replace("\\", "") == "Why does “c” look at “·a” in head 2.5?"


@pytest.mark.parametrize(("name", "part"), [("stories", None), ("translate", "cross")])
def test_the_page_on_heads_opens_on_the_same_score(name, part):
    at = HeadOfText(name, TEXT, 1, 2, part=part)
    test = visits.opened(head_links.FILE, **at.view(4, 3))
    assert "Corrected" not in visits.said(test, "caption")
    model, tokenizer = cache.model(name)
    run = stream_pass(model, tokenizer, TEXT, part)
    found = score_parts(model, run, 1, 2, 4, 3, None)
    assert f"{found.score:+.2f}" in figures(test)["why"][0]["caption"]


def test_ids_become_a_text_again_where_there_is_one():
    ids = tuple(cache.model("stories")[1].encode(TEXT))
    assert head_links.of_ids("stories", ids, 0, 1) == HeadOfText("stories", TEXT, 0, 1)
    assert head_links.of_ids("stories", ids[:5], 0, 1, TEXT) == HeadOfText("stories", "Sam was a little", 0, 1)
    apart = [*cache.model("stories")[1].encode("a"), *cache.model("stories")[1].encode("m")]
    numbers = f"token ids: {apart[0]} {apart[1]}"  # "am" is one token
    assert head_links.of_ids("stories", apart, 0, 1) == HeadOfText("stories", numbers, 0, 1)


def test_the_page_on_heads_reads_ids_and_says_so():
    model, tokenizer = cache.model("stories")
    ids = [tokenizer.encode(letter)[0] for letter in "amama"]  # "am" is one token
    at = head_links.of_ids("stories", ids, 3, 0)
    test = visits.opened(head_links.FILE, **at.view(4, 1))
    assert "as ids of this model's vocabulary" in visits.said(test, "caption")
    scores = model(torch.tensor([ids]), capture=["blocks.3.attn.scores"]).activations["blocks.3.attn.scores"]
    assert f"{scores[0, 0, 4, 1]:+.2f}" in figures(test)["why"][0]["caption"]
    beyond = visits.opened(head_links.FILE, text="token ids: 9 2048")
    assert "belong whole numbers below 2,048" in visits.said(beyond, "caption")


def test_a_map_that_leads_nowhere_says_why():
    at = HeadOfText("stories", TEXT, 2, 5)
    assert head_links.caption("Shown.", at, "Why not.") == f"Shown. {head_links.CLICK}"
    assert head_links.caption("Shown.", None, "Why not.") == "Shown. Why not."
    assert head_links.caption("Shown.", None, "") == "Shown."


def test_sheets_are_linked_for_models_that_have_an_atlas(monkeypatch):
    made = []
    monkeypatch.setattr(links, "to", lambda file, view, words: made.append((file, view, words)))
    head_links.sheets("induction", [(0, 1)])
    head_links.sheets("stories", [])
    assert made == []
    head_links.sheets("stories", [(2, 5), (0, 1), (2, 5)])
    assert [words for *_, words in made] == ["head 2.5", "head 0.1"]
    assert made[0][:2] == (head_links.ATLAS, {"model": "stories", "show": "one head", "layer": "2", "head": "5"})


def test_the_largest_heads_come_first_whatever_their_sign():
    assert head_links.largest(np.array([[0.1, -0.9], [0.5, 0.0]])) == [(0, 1), (1, 0), (0, 0)]


@pytest.mark.parametrize(
    ("words", "heads", "noticed"),
    [
        ("3.0, 2.5", ((3, 0), (2, 5)), False),
        ("", (), False),
        ("3.0 3.0", ((3, 0),), False),
        ("4.0 1.1", ((1, 1),), True),
        ("the first", (), True),
        ("12345.1 1.23456", (), True),
    ],
)
def test_heads_named_in_a_text(words, heads, noticed, monkeypatch):
    said = []
    monkeypatch.setattr(head_links.notices, "add", lambda key, sentence, value: said.append((key, sentence, value)))
    assert head_links.named_heads("off", words, (4, 6)) == heads
    assert bool(said) == noticed
    assert not said or said[0][1] == "Heads are written as 0.0 to 3.5; others are ignored"
