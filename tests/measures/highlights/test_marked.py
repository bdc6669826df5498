"""The marked texts, and how many of their pairs are found."""

import json
import re

import pytest

import tfcore
from tests.measures.highlights.test_words import Pieces
from tests.nightly import nightly
from tests.real import real
from tfcore.loading.real_models import CARDS
from tfcore.measures.highlights import marked as module
from tfcore.measures.highlights.marked import PLAIN, Marked, bare_links, first_links, is_found, marked_texts, measured
from tfcore.measures.highlights.usual import stored_usual


def test_there_are_forty_and_twenty_held_out_and_twenty_more():
    texts = marked_texts()
    plain = [one for one in texts if one.kind in PLAIN]
    assert (len(plain), len(texts)) == (60, 80)
    assert [sum(one.kind == kind for one in plain) for kind in PLAIN] == [10] * 6
    assert sum(one.held_out for one in plain) == 20
    assert all(one.held_out for one in texts[60:])
    assert len({one.text for one in texts}) == 80


def test_marks_are_no_part_of_a_text():
    first = marked_texts()[0]
    assert first.text == "The vase fell from the table because it stood too near the edge."
    assert first.text[slice(*first.query)] == "it"
    assert [first.text[slice(*key)] for key in first.keys] == ["vase"]
    assert not any(set(one.text) & set("«»‹›") for one in marked_texts())
    assert all(max(key[1] for key in one.keys) <= one.query[0] for one in marked_texts())


def test_a_pair_is_found_by_any_of_its_tokens():
    tokenizer = Pieces("A", " suit", "case", " was", " big", " so", " it", " fell")
    marked = Marked("pronouns", "A suitcase was big so it fell", (22, 24), ((2, 10),), False)
    assert is_found(marked, tokenizer, [(0, 1), (6, 2)])
    assert is_found(marked, tokenizer, [(6, 1)])
    assert not is_found(marked, tokenizer, [(6, 4), (7, 2), (2, 6)])


def test_the_bare_weight_takes_what_is_largest(unchecked):
    model, tokenizer = tfcore.load("stories", device="cpu")
    text = marked_texts()[0].text
    pairs = bare_links(model, tokenizer, text)
    assert len(pairs) == 3
    assert all(query > key + 1 and key > 0 for query, key in pairs)
    assert len(first_links(model, tokenizer, text, stored_usual("stories"))) <= 3


@nightly
def test_the_card_of_smollm2_says_how_many_are_found(real_models):
    model, tokenizer = real("smollm2")
    found = measured(model, tokenizer, stored_usual("smollm2"))
    _, block, *_ = re.findall(r"```json\n(.*?)```", (CARDS / "smollm2.md").read_text("utf-8"), re.DOTALL)
    assert {name: {group: tuple(n) for group, n in one.items()} for name, one in json.loads(block).items()} == {
        name: {group: pytest.approx(tuple(n), abs=1) for group, n in one.items()} for name, one in found.items()
    }
    ranked = found["ranked"]
    assert ranked["tried"][0] + ranked["held out"][0] >= 45


def test_groups_are_counted(monkeypatch, unchecked):
    monkeypatch.setattr(module, "marked_texts", lambda: marked_texts()[1:4])
    found = measured(*tfcore.load("stories", device="cpu"), stored_usual("stories"))
    assert {name: {group: of for group, (_, of) in one.items()} for name, one in found.items()} == {
        name: {"tried": 2, "held out": 1} for name in ("ranked", "bare")
    }
