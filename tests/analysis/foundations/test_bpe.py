"""Merges one by one end where the tokenizer does, for any text, and are learned as the paper says."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import models, pre_tokenizers, trainers

import tfcore
from tfcore.analysis.foundations.bpe import learn, longest_tokens, merge_pair, replay

TOKENIZER = tfcore.load("stories")[1]


RANKS = {pair: rank for rank, pair in enumerate(TOKENIZER.merges)}


ANY = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too


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
    ranks = [step.rank for step in steps[1:]]
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
    assert merge_pair(pieces, (b"a", b"a")) == joined


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
    found = longest_tokens(merges, 2)
    assert len(found) == len(set(found)) == 2
    assert [len(piece) for piece in found] == sorted((len(piece) for piece in set(made)), reverse=True)[:2]
