"""Characters, bytes and tokens of one text belong together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfcore
from tfcore.measures.token_pieces import TextPieces, cut_text
from tfcore.tokenizers.tokenizer import ByteTokenizer, CharacterTokenizer
from tfcore.views.foundations.tokens.measure.text_pieces import Density, densities, piece_label
from tfcore.views.foundations.tokens.say.text import (
    ChangedText,
    TextSizes,
    changed_text,
    characters_per_token,
    several_tokens,
    text_sizes,
    tokens_of_texts,
)

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


def test_a_character_without_a_token_is_not_split():
    found = TextPieces(
        " é", b" \xc3\xa9", (1,), (b"\xc3",), (), np.array([True]), np.array([-1, 0, -1]), np.array([0, 1])
    )
    assert found.split.tolist() == [False, True]


def test_bytes_that_are_not_the_text_belong_to_no_token_unless_the_tokenizer_says():
    class Marked(ByteTokenizer):
        def encode(self, text):
            return [1, *super().encode(text)]

    class Aligned(Marked):
        def offsets(self, text):
            return [(0, 0), *((place, place + 1) for place, one in enumerate(text) for _ in one.encode())]

    assert cut_text("aé", Marked()).token_of_byte.tolist() == [-1, -1, -1]
    assert cut_text("aé", Aligned()).token_of_byte.tolist() == [1, 2, 3]


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


def test_a_text_is_counted_three_ways():
    text = "a 🐱 Жил"
    found, ids = text_sizes(cut_text(text, TOKENIZER), 2_048), TOKENIZER.encode(text)
    parts = 0
    for i in ids:
        try:
            TOKENIZER.token_bytes(i).decode()
        except UnicodeDecodeError:
            parts += 1
    assert found == TextSizes(len(text), len(text.encode()), len(ids), parts, 2_048)
    assert 0 < parts < len(ids)
    assert str(TextSizes(1_200, 2_300, 1_600, 19, 2_048)) == (
        "19 of 1600 tokens are only part of a character (orange). The vocabulary has 2,048 ids."
    )
    assert str(TextSizes(1, 1, 1, 0, 9)) == "Every token here is whole characters. The vocabulary has 9 ids."
    assert TextSizes(1_200, 2_300, 1_600, 19, 2_048).titles == (
        "1,200 characters",
        "2,300 bytes",
        "1,600 tokens with their ids, 0.75 characters in one",
    )
    assert TextSizes(0, 0, 0, 0, 9).titles[2].endswith("0.00 characters in one")


def test_the_extremes_are_those_of_the_other_texts():
    others = [Density(name, n, n, 10, 0) for name, n in {"a": 30, "b": 44, "c": 7}.items()]
    summary = characters_per_token([Density("your text", 90, 90, 1, 0), *others])
    rising = sorted((one.characters / one.tokens, one.name) for one in others)
    assert (summary.values["worst_per_token"], summary.values["worst"]) == rising[0]
    assert (summary.values["best_per_token"], summary.values["best"]) == rising[-1]
    assert str(summary) == "Characters per token: 90.00 in your text, 4.40 for b, 0.70 for c."


def test_tokens_of_languages_are_looked_up_by_the_name_of_the_text():
    found = [Density(name, 9, 9, tokens, 0) for name, tokens in (("a story", 5), ("x", 6), ("y", 7), ("z", 8))]
    said = tokens_of_texts("m", found, {"English": "a story", "German": "z", "Hindi": "y"})
    assert said.values["tokens"] == {"English": 5, "German": 8, "Hindi": 7}
    assert str(said) == (
        "Of the texts in the figure, m cuts the English one into 5, the German one into 8 and the Hindi one into "
        "7 tokens."
    )


def test_what_is_several_tokens():
    assert str(several_tokens((" a", "b"))) == "That is 2 tokens (·a b); the first one is shown."


def test_a_part_of_a_character_is_written_as_its_bytes():
    assert [piece_label(piece) for piece in (b" a<", b"\xf0\x9f")] == ["·a&lt;", "F0·9F"]


def test_what_a_tokenizer_does_to_a_text_is_said():
    assert str(changed_text(cut_text("a 🐱", TOKENIZER), TOKENIZER)) == "From its ids the text comes back exactly."
    assert str(ChangedText(("[CLS]", "[SEP]"), 2, "the cat" * 20)) == (
        "It puts [CLS] and [SEP] around every text. 2 of the tokens stand for what the vocabulary does not have, which "
        f"is lost. From its ids the text comes back as “{('the cat' * 20)[:79]}…”."
    )
