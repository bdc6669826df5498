"""Merges one by one end where the tokenizer does, for any text, and are learned as the paper says."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import models, pre_tokenizers, trainers

import tfcore
from tfcore.views.foundations.tokens.measure.bpe import (
    LearnedMerge,
    LearnedMerges,
    MergeStep,
    WordMerges,
    learn,
    learn_from,
    longest_tokens,
    merge_pair,
    replay,
    word_merges,
)
from tfcore.views.foundations.tokens.say.text import (
    NextMerge,
    PairChosen,
    Shortening,
    learned_length,
    merge_result,
    next_merge,
    pair_chosen,
    pieces_by_merges,
    shortening,
)

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


def test_the_merges_of_a_word_by_its_tokenizer():
    found = word_merges(TOKENIZER, "unhappiness")
    assert (found.word, found.known, found.same) == ("unhappiness", TOKENIZER.vocab_size - 257, True)
    assert list(found.steps) == replay([b"unhappiness"], RANKS)


def test_another_encoding_is_noticed(monkeypatch):
    monkeypatch.setattr(TOKENIZER, "encode", lambda text: [len(text)])
    assert not word_merges(TOKENIZER, "unhappiness").same


WORD = WordMerges(
    "a ba",
    (
        MergeStep(None, None, ((b"a",), (b" ", b"b", b"a"))),
        MergeStep(7, (b"b", b"a"), ((b"a",), (b" ", b"ba"))),
        MergeStep(9, (b" ", b"ba"), ((b"a",), (b" ba",))),
    ),
    1_791,
    same=False,
)


def test_the_merges_of_a_word_in_words():
    assert str(merge_result(WORD)) == "'a·ba' goes from 4 bytes to 2 pieces in 2 merges: a | ·ba."
    assert str(pieces_by_merges(WORD)) == (
        "The same word with only the first merges of the list: 4 pieces with none, 2 with all 1,791."
    )
    assert [next_merge(WORD, now).rank for now in range(3)] == [7, 9, None]
    assert str(next_merge(WORD, 1)) == "Next: · + ba, rank 9."
    assert str(next_merge(WORD, 2)) == (
        "No pair is on the list any more. The result is not what the tokenizer itself gives."
    )
    assert str(NextMerge(None, None, same=True)).endswith("The result is the same as the tokenizer's own encoding.")


LEARNED = LearnedMerges(
    (b"abab", b" abc"),
    (LearnedMerge((b"a", b"b"), 3, 5, (((b"b", b"a"), 1),)), LearnedMerge((b"ab", b"c"), 2, 4, (((b" ", b"ab"), 2),))),
)


def test_learned_merges_in_words():
    assert LEARNED.tokens == [8, 5, 4]
    assert [LEARNED.pieces(now) for now in (0, 2)] == [
        (b"a", b"b", b"a", b"b", b" ", b"a", b"b", b"c"),
        (b"ab", b"ab", b" ", b"abc"),
    ]
    assert str(learned_length(LEARNED, 1)) == (
        "After 1 merges the text of 8 bytes has 5 tokens, 1.60 bytes in one; after 2, 4."
    )
    assert pair_chosen(LEARNED, 0) == PairChosen(last=False, pair=(b"a", b"b"), count=3, tied=False)
    assert pair_chosen(LEARNED, 1) == PairChosen(last=False, pair=(b"ab", b"c"), count=2, tied=True)
    assert pair_chosen(LEARNED, 2) == PairChosen(last=True, pair=(b"ab", b"c"), count=2, tied=True)
    assert str(pair_chosen(LEARNED, 0)) == (
        "The next merge joins a + b, which stands 3 times in the text, more often than any other pair."
    )
    assert str(pair_chosen(LEARNED, 2)) == (
        "The last merge joins ab + c, which stands 2 times in the text, no more often than others, but it comes first "
        "in order."
    )
    assert shortening(LEARNED, 0) == Shortening(3, 0, 0, ())
    assert shortening(LEARNED, 1) == Shortening(3, 1, 3, (b"ab",))
    assert shortening(LEARNED, 2) == Shortening(3, 2, 1, (b"abc", b"ab"))
    assert str(shortening(LEARNED, 0)) == "The first merge shortens the text by 3 tokens."
    assert str(shortening(LEARNED, 2)) == (
        "The first merge shortens the text by 3 tokens, merge 2 by 1. The longest tokens after 2: “abc”, “ab”."
    )


def test_at_most_four_of_the_longest_tokens_are_named():
    merges = learn_from(TOKENIZER, "abcdefgh abcdefgh", 9)
    lengths = [len(piece) for piece in shortening(merges, 7).longest]
    made = sorted((len(b"".join(one.pair)) for one in merges.merges[:7]), reverse=True)
    assert lengths == made[:4]


def test_learning_from_a_text_counts_its_words():
    found = learn_from(TOKENIZER, "low low lower", 2)
    assert found.words == (b"low", b" low", b" lower")
    assert list(found.merges) == learn([b"low", b" low", b" lower"], 2)
    assert len(found.merges) == 2
