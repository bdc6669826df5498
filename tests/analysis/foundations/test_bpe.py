"""Characters, bytes and tokens of a text line up; merges end where the tokenizer does, and are learned as published."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import models, pre_tokenizers, trainers

import tfcore
from tfcore.analysis.foundations.bpe import cut, densities, join, learn, longest, replay
from tfcore.tokenizers.tokenizer import ByteTokenizer, CharacterTokenizer

TOKENIZER = tfcore.load("stories")[1]


RANKS = {pair: rank for rank, pair in enumerate(TOKENIZER.merges)}


ANY = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too


TOKENIZERS = [TOKENIZER, ByteTokenizer(), CharacterTokenizer("abc é")]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=["bpe", "bytes", "characters"])
@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(exclude_categories=()), max_size=40))
def test_the_three_line_up(tokenizer, text):
    found = cut(text, tokenizer)
    assert found.data == text.encode("utf-8", "surrogatepass") == b"".join(found.tokens)
    assert len(found.token_of_byte) == len(found.data)
    assert len(found.first_byte) == len(found.split) == len(text)
    for character, first in zip(text, found.first_byte, strict=True):
        assert found.data[first:].startswith(character.encode("utf-8", "surrogatepass"))
    for token, data in enumerate(found.tokens):
        assert bytes(np.frombuffer(found.data, np.uint8)[found.token_of_byte == token]) == data


def test_a_cat_falls_back_on_four_bytes():
    found = cut("a 🐱", TOKENIZER)
    assert found.part.sum() == 4
    assert found.split.tolist() == [False, False, True]


def test_every_story_word_is_whole():
    found = cut("Once upon a time", TOKENIZER)
    assert [t.decode() for t in found.tokens] == ["Once", " upon", " a", " time"]
    assert not found.part.any()
    assert found.per_token == 4.0


def test_no_text():
    found = cut("", TOKENIZER)
    assert found.per_token == 0.0
    assert found.token_of_character.size == 0


def test_densities_by_hand():
    one, two = densities({"english": "Once upon a time", "cat": "🐱"}, TOKENIZER)
    assert (one.characters, one.data_bytes, one.tokens, one.parts, one.per_token) == (16, 16, 4, 0, 4.0)
    assert (two.characters, two.data_bytes, two.tokens, two.parts, two.per_token) == (1, 4, 4, 4, 0.25)


def ends(text):
    return list(replay(TOKENIZER.words(text), RANKS)[-1].pieces)


@settings(max_examples=300, deadline=None)
@given(st.one_of(ANY, st.text("aeinhrst ", max_size=60), st.text("ab\n '", max_size=30)))
def test_the_end_is_the_tokenizers_own_encoding(text):
    assert ends(text) == [TOKENIZER.token_bytes(i) for i in TOKENIZER.encode(text)]


@given(ANY)
def test_words_put_together_are_the_text(text):
    assert b"".join(TOKENIZER.words(text)) == text.encode("utf-8", "surrogatepass")


@given(st.text("unhapieslytdog ", max_size=30))
def test_ranks_rise_and_each_step_joins_something(text):
    steps = replay(TOKENIZER.words(text), RANKS)
    ranks: list[Any] = [step.rank for step in steps[1:]]
    assert ranks == sorted(set(ranks))
    sizes = [len(step.pieces) for step in steps]
    assert all(after < before for before, after in pairwise(sizes))
    assert {b"".join(step.pieces) for step in steps} == {text.encode()}


def test_unhappiness():
    steps = replay(TOKENIZER.words("unhappiness"), RANKS)
    assert steps[0].pieces == tuple(bytes([b]) for b in b"unhappiness")
    assert steps[0].rank is None
    assert steps[-1].pieces == (b"un", b"h", b"app", b"iness")


def test_merges_are_those_of_the_file():
    assert len(TOKENIZER.merges) == TOKENIZER.vocab_size - 257
    assert TOKENIZER.merges[0] == (b"h", b"e")
    assert TOKENIZER.merges[1] == (b" ", b"t")


def test_no_text_has_no_merges():
    assert [step.pieces for step in replay([], RANKS)] == [()]


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ((b"a", b"a", b"a"), (b"aa", b"a")),
        ((b"b", b"a", b"a", b"b"), (b"b", b"aa", b"b")),
        ((b"a",), (b"a",)),
        ((), ()),
    ],
)
def test_joining_goes_from_left_to_right(pieces, joined):
    assert join(pieces, (b"a", b"a")) == joined


def test_learning_by_hand():
    first, second, *_ = learn([b"low", b"low", b"lower", b"newest"], 10)
    assert (first.pair, first.count, first.tokens) == ((b"l", b"o"), 3, 3 + 3 + 5 + 6 - 3)
    assert (second.pair, second.count) == ((b"lo", b"w"), 3)
    assert dict(first.runners_up)[b"o", b"w"] == 3


def test_learning_stops_when_nothing_stands_twice():
    assert learn([b"abc"], 10) == []
    assert learn([], 10) == []
    assert len(learn([b"ab", b"ab"], 10)) == 1


def test_learned_counts_agree_with_the_library():
    """Ties are broken differently, so a text without ties among the first merges."""
    text = "aaab aab ab abc abcd bcd bcd bcd bcd cd cd cd cd cd cd cd"
    inner = HFTokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.train_from_iterator([text], trainers.BpeTrainer(vocab_size=8, show_progress=False))
    words = TOKENIZER.words(text)
    mine = learn(words, 3)
    assert [one.count for one in mine] == sorted((one.count for one in mine), reverse=True)
    vocabulary = set(inner.get_vocab())
    assert {"".join(part.decode() for part in one.pair).replace(" ", "Ġ") for one in mine} <= vocabulary


@given(st.lists(st.binary(min_size=1, max_size=8), max_size=12), st.integers(0, 8))
def test_learned_merges_cut_the_text_into_as_many_pieces_as_said(words, count):
    merges = learn(words, count)
    if merges:
        pieces = replay(words, {one.pair: rank for rank, one in enumerate(merges)})[-1].pieces
        assert len(pieces) == merges[-1].tokens


def test_the_longest_tokens_come_first_and_each_once():
    merges = learn([b"abcabc abc"], 4)
    made = [b"".join(one.pair) for one in merges]
    found = longest(merges, 2)
    assert len(found) == len(set(found)) == 2
    assert [len(piece) for piece in found] == sorted((len(piece) for piece in set(made)), reverse=True)[:2]
