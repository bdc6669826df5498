"""Characters, bytes and tokens of one text belong together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfcore
from tfcore.analysis.foundations.text_pieces import cut_text, densities
from tfcore.tokenizers.tokenizer import ByteTokenizer, CharacterTokenizer

TOKENIZER = tfcore.load("stories")[1]


TOKENIZERS = [TOKENIZER, ByteTokenizer(), CharacterTokenizer("abc é")]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=["bpe", "bytes", "characters"])
@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(exclude_categories=()), max_size=40))
def test_the_three_line_up(tokenizer, text):
    found = cut_text(text, tokenizer)
    assert found.data == text.encode("utf-8", "surrogatepass") == b"".join(found.tokens)
    assert len(found.token_of_byte) == len(found.data)
    assert len(found.first_byte) == len(found.split) == len(text)
    for character, first in zip(text, found.first_byte, strict=True):
        assert found.data[first:].startswith(character.encode("utf-8", "surrogatepass"))
    for token, data in enumerate(found.tokens):
        assert bytes(np.frombuffer(found.data, np.uint8)[found.token_of_byte == token]) == data


def test_a_cat_falls_back_on_four_bytes():
    found = cut_text("a 🐱", TOKENIZER)
    assert found.part.sum() == 4
    assert found.split.tolist() == [False, False, True]


def test_every_story_word_is_whole():
    found = cut_text("Once upon a time", TOKENIZER)
    assert [t.decode() for t in found.tokens] == ["Once", " upon", " a", " time"]
    assert not found.part.any()
    assert found.per_token == 4.0


def test_no_text():
    found = cut_text("", TOKENIZER)
    assert found.per_token == 0.0
    assert found.token_of_character.size == 0


def test_densities_by_hand():
    one, two = densities(TOKENIZER, {"english": "Once upon a time", "cat": "🐱"})
    assert (one.characters, one.data_bytes, one.tokens, one.parts, one.per_token) == (16, 16, 4, 0, 4.0)
    assert (two.characters, two.data_bytes, two.tokens, two.parts, two.per_token) == (1, 4, 4, 4, 0.25)
