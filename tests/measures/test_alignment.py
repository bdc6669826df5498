"""Tokens beside each other: equal ones, replaced ones, and those of one text in two tokenizers."""

from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.alignment import aligned, aligned_by_characters

TOKENS = st.lists(st.text(" abc", min_size=1, max_size=3), max_size=12)


def test_replaced_words_stand_for_each_other_and_inserted_ones_for_none():
    assert aligned(["When", "Mary", "and", "John", "left"], ["When", "Anna", "and", "Tom", "left"]) == [0, 1, 2, 3, 4]
    assert aligned(["a", "big", "red", "ball"], ["a", "ball"]) == [0, None, None, 1]
    assert aligned(["a", "ball"], ["a", "big", "red", "ball"]) == [0, 3]


def test_another_tokenizer_has_the_token_that_holds_the_last_character():
    assert aligned_by_characters(["The", " trophy", "."], ["The", " tro", "phy", "."]) == [0, 2, 3]
    assert aligned_by_characters(["The", " tro", "phy"], ["[CLS]", "The", " trophy"]) == [1, 2, 2]
    assert aligned_by_characters(["", "x"], ["y"]) == [None, None]


def test_parts_of_characters_are_aligned_by_their_bytes():
    whole, parts = ["今", "天", "."], ["<0xE4><0xBB>", "<0x8A>", "<0xE5>", "<0xA4><0xA9>", "."]
    assert aligned_by_characters(whole, parts) == [1, 3, 4]
    assert aligned_by_characters(parts, whole) == [0, 0, 1, 1, 2]


@given(TOKENS, TOKENS)
def test_places_rise_and_are_of_the_other_text(tokens, others):
    for places in (aligned(tokens, others), aligned_by_characters(tokens, others)):
        assert len(places) == len(tokens)
        there = [place for place in places if place is not None]
        assert there == sorted(there)
        assert all(0 <= place < len(others) for place in there)


@given(TOKENS)
def test_a_text_beside_itself(tokens):
    assert aligned(tokens, tokens) == list(range(len(tokens)))
