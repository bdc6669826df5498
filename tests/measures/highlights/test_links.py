"""Links between words, of attention made by hand."""

import numpy as np
import pytest

from tests.measures.highlights.test_words import Pieces
from tfcore.measures.highlights.links import BOOST, links
from tfcore.measures.highlights.usual import UsualWeights
from tfcore.measures.highlights.words import words_of

PIECES = ["The", " tro", "phy", " does", " not", " fit", " because", " it", " is", " big", "."]
TEXT = Pieces(*PIECES)
IDS = list(range(len(PIECES)))
HIDDEN = np.arange(len(PIECES)) == 0


def attention(*looks, heads=3):
    """Maps of one layer: what is said, and the rest of each row on the first token."""
    found = np.zeros((1, heads, len(PIECES), len(PIECES)), dtype=np.float32)
    for head, query, key, weight in looks:
        found[0, head, query, key] = weight
    return found


def found(patterns, usual=None, most=3, tokenizer=TEXT):
    words = words_of(tokenizer, IDS)
    return links(tokenizer, IDS, patterns, HIDDEN, words, usual, most)


@pytest.fixture
def rare(monkeypatch):
    """Every word as rare as can be."""
    monkeypatch.setattr("tfcore.measures.highlights.links.rarity", lambda *_: np.ones(len(words_of(TEXT, IDS))))


def test_weight_on_all_tokens_of_a_word_counts(rare):
    (link,) = found(attention((1, 7, 1, 0.3), (1, 7, 2, 0.4)))
    assert (link.layer, link.head, link.query, link.key) == (0, 1, 7, 2)
    assert (link.query_word, link.key_word) == ("it", "trophy")
    assert link.weight == pytest.approx(0.7)
    assert link.score == pytest.approx(0.7 * BOOST)


def test_what_a_head_always_does_comes_after(rare):
    usual = UsualWeights(np.zeros((1, 3, 64), np.float32), np.zeros((1, 3, 64), np.float32))
    usual.before[0, 0, 4] = 0.7  # four tokens away, as 5 is from 9
    patterns = attention((0, 9, 5, 0.8), (1, 6, 4, 0.5))
    assert [link.query for link in found(patterns)] == [9, 6]
    first, second = found(patterns, usual)
    assert (first.query, second.query) == (6, 9)
    assert second.usual == pytest.approx(0.7)
    assert second.weight == pytest.approx(0.8)


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(0, 7, 0, 0.9)], id="the first token"),
        pytest.param([(0, 7, 7, 0.9)], id="itself"),
        pytest.param([(0, 2, 1, 0.9)], id="a piece of itself"),
        pytest.param([(0, 6, 5, 0.9)], id="the word before"),
        pytest.param([(0, 9, 5, 0.19)], id="too little"),
        pytest.param([(0, 10, 5, 0.9)], id="a full stop that looks"),
        pytest.param([(0, 9, 3, 0.9)], id="a verb that is looked at"),
    ],
)
def test_no_link(rare, looks):
    assert found(attention(*looks)) == ()


def test_few_of_a_word_and_of_a_head(rare):
    same = [(0, 5, 2, 0.9), (0, 6, 2, 0.8), (1, 9, 2, 0.7), (2, 9, 4, 0.6), (0, 6, 3, 0.5), (0, 9, 3, 0.4)]
    chosen = [(link.head, link.query, link.key) for link in found(attention(*same), most=6)]
    assert chosen == [(0, 5, 2), (0, 6, 2), (2, 9, 4)]  # two to "trophy" and two of head 0; one of each word


def test_a_rare_word_comes_before_a_common_one():
    pieces = Pieces("xx", *(f" w{i}" for i in range(2, 11)), ".")
    (first, *_) = found(attention((0, 8, 2, 0.8), (1, 9, 6, 0.8)), tokenizer=pieces)
    assert first.key == 6


def test_a_closing_mark_looks_at_its_own():
    pieces = Pieces("The", " sign", " said", ' "', "no", " dogs", '"', " to", " us", " all", '"')
    right, wrong = attention((0, 6, 3, 0.8)), attention((0, 10, 3, 0.8))
    (link,) = found(right, tokenizer=pieces)
    assert (link.query_word, link.key_word, link.score) == ('"', '"', pytest.approx(0.8))
    assert found(wrong, tokenizer=pieces) == ()


def test_a_text_of_one_token():
    one = Pieces("The")
    assert links(one, [0], np.ones((1, 1, 1, 1), np.float32), np.array([True]), words_of(one, [0]), None) == ()
