"""A text with and without the token that says that it begins, for tokenizers that put one there and that do not."""

import pytest
from streamlit.testing.v1 import AppTest

import tfcore
from tests.small import model as small
from tfcore.loading.checkpoints import load
from tfcore.loading.families.config_values import ConfigValues
from tfcore.measures.heads.part_texts import text_ids
from tfcore.measures.one_text import begin_of, encoded, first_tokens, given_ids, last_tokens, text_of
from tfcore.tokenizers.tokenizer import ByteTokenizer


class Words(ByteTokenizer):
    """A tokenizer of lengths of words; `before` and `behind` are put around a text."""

    def __init__(self, before=(), behind=()):
        self.before, self.behind = list(before), list(behind)

    def encode(self, text):
        return [*self.before, *(10 + len(word) for word in text.split()), *self.behind]

    def tokens(self, ids):
        return [f"<{i}>" for i in ids]


def test_our_own_separator_begins_a_text():
    model, tokenizer = tfcore.load("stories")
    begin = begin_of(model, tokenizer)
    assert (begin.id, begin.token, begin.usual) == (0, "<|endoftext|>", False)
    plain = tokenizer.encode("One day")
    assert encoded(model, tokenizer, "One day") == encoded(model, tokenizer, "One day", False) == plain
    assert encoded(model, tokenizer, "One day", True) == [0, *plain]
    assert first_tokens(model, tokenizer, "One day", 2, True).ids == [0, plain[0]]
    assert encoded(model, tokenizer, "", True) == []


def test_one_that_stands_before_every_text_can_be_left_out():
    model, tokenizer = small(vocab_size=40, bos_id=3), Words(before=[1])
    assert begin_of(model, tokenizer).usual
    assert begin_of(model, tokenizer).id == 1
    assert encoded(model, tokenizer, "a bb") == encoded(model, tokenizer, "a bb", True) == [1, 11, 12]
    assert encoded(model, tokenizer, "a bb", False) == [11, 12]


def test_of_two_the_first_begins():
    begin = begin_of(small(vocab_size=40, bos_id=3), Words(before=[1, 5]))
    assert (begin.id, begin.usual) == (1, True)


def test_one_that_stands_behind_begins_nothing():
    model, tokenizer = small(vocab_size=40, bos_id=3), Words(behind=[2])
    assert begin_of(model, tokenizer).id == 3
    assert encoded(model, tokenizer, "a", True) == [3, 11, 2]
    assert begin_of(small(vocab_size=40), tokenizer) is None
    assert encoded(small(vocab_size=40), tokenizer, "a", True) == [11, 2]


def test_a_text_can_give_ids_as_numbers():
    model, tokenizer = small(vocab_size=40), ByteTokenizer()
    assert given_ids(model, tokenizer, " token ids: 7 0 39\n") == [7, 0, 39]
    for other in (
        "token ids:",
        "token ids: 7 40",
        "token ids: 7  8",
        "token ids: -1",
        "token ids: 7 a",
        "7 8",
        "",
        "token ids: ²",
    ):
        assert given_ids(model, tokenizer, other) is None
    assert text_of(model, tokenizer, [97, 98]) == ("ab", None)
    lone = text_of(small(vocab_size=256), tokenizer, [200, 7])  # no text has half a letter
    assert (lone.text, lone.bos) == ("token ids: 200 7", None)
    assert given_ids(small(vocab_size=256), tokenizer, lone.text) == [200, 7]
    assert text_ids(model, tokenizer, "token ids: 7 8 9", "decoder", most=2).ids == [8, 9]


def test_encoders_have_none():
    assert begin_of(small(vocab_size=40, architecture="encoder", bos_id=3), Words(before=[1])) is None


@pytest.mark.parametrize(("said", "expected"), [(1, 1), (60, None), (-1, None), (True, None), ("1", None), ([1], None)])
def test_a_checkpoint_names_it(said, expected):
    assert ConfigValues({"bos_token_id": said, "vocab_size": 60}).bos() == expected
    assert ConfigValues({"vocab_size": 60}).bos() is None


def test_the_control_is_in_the_address():
    def page():
        import streamlit as st

        from pages.ui import reading

        st.text(reading.choose_bos("stories"))
        st.text(reading.choose_bos("fill", "bos2"))

    test = AppTest.from_function(page).run()
    assert [shown.value for shown in test.text] == ["None", "None"]
    test = AppTest.from_function(page)
    test.query_params["bos"] = "with"
    assert [shown.value for shown in test.run().text] == ["True", "None"]
    assert not test.exception


def test_the_first_tokens_keep_what_stands_behind_every_text(real_models):
    model, tokenizer = load("minilm", device="cpu")
    whole = tokenizer.encode("the dog saw a cat and ran")
    found = first_tokens(model, tokenizer, "the dog saw a cat and ran", 5)
    assert found.ids == [*whole[:4], whole[-1]]
    assert (found.tokens, found.total) == (["[CLS]", "the", "dog", "saw", "[SEP]"], 9)
    assert first_tokens(model, tokenizer, "the dog saw a cat and ran", 9).ids == whole
    assert first_tokens(model, tokenizer, "the dog", 1).tokens == ["[SEP]"]
    assert first_tokens(small(), ByteTokenizer(), "abcdef", 3).ids == list(b"abc")


def test_the_last_tokens_keep_what_stands_before_every_text(real_models):
    model, tokenizer = load("stories")
    ids = tokenizer.encode("The little dog lost the ball.")
    assert last_tokens(model, tokenizer, "The little dog lost the ball.", 4) == (
        ids[-4:],
        tokenizer.tokens(ids[-4:]),
        len(ids),
    )
    assert last_tokens(model, tokenizer, "The little", 4).ids == tokenizer.encode("The little")
    model, tokenizer = load("minilm")
    found = last_tokens(model, tokenizer, "The animal was too tired.", 5)
    assert found.tokens == ["[CLS]", "too", "tired", ".", "[SEP]"]
    assert last_tokens(model, tokenizer, "The animal was too tired.", 1).tokens == ["[SEP]"]


def test_the_last_tokens_keep_a_beginning_that_was_asked_for():
    model, tokenizer = small(vocab_size=256, bos_id=7), ByteTokenizer()
    assert last_tokens(model, tokenizer, "abcdef", 3).ids == list(b"def")
    assert last_tokens(model, tokenizer, "abcdef", 3, True).ids == [7, *b"ef"]
    assert last_tokens(model, tokenizer, "abcdef", 7, True).ids == [7, *b"abcdef"]
    assert last_tokens(model, tokenizer, "abcdef", 1, True).ids == [7]
    model, tokenizer = small(vocab_size=40, bos_id=3), Words(before=[1])
    text = "one two three four five"
    assert last_tokens(model, tokenizer, text, 3).ids == [1, *tokenizer.encode(text)[-2:]]
    assert last_tokens(model, tokenizer, text, 3, False).ids == tokenizer.encode(text)[-3:]
