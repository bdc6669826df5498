"""Any text comes back exactly, from every tokenizer, before and after it was saved."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import models

from tfcore.tokenizers.foreign import load_tokenizer
from tfcore.tokenizers.tokenizer import SEPARATOR, BPETokenizer, ByteTokenizer, CharacterTokenizer

TEXT = "Once upon a time there was a little dog. The little dog had a ball, and the ball was red. Café, naïve, 犬.\n"
TOKENIZERS: dict[str, Any] = {
    "bytes": ByteTokenizer(),
    "characters": CharacterTokenizer.train([TEXT]),
    "bpe": BPETokenizer.train([TEXT] * 5, 320),
}
every = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=list(TOKENIZERS))


@every
def test_every_code_point_comes_back(tokenizer):
    size = 0x2000
    for start in range(0, sys.maxunicode + 1, size):
        text = "".join(map(chr, range(start, start + size)))
        assert tokenizer.decode(tokenizer.encode(text)) == text, hex(start)


@every
@given(text=st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_comes_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(0 <= i < tokenizer.vocab_size for i in ids)
    assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode("utf-8", "surrogatepass")
    assert len(tokenizer.tokens(ids)) == len(ids)


HOSTILE = [
    "",
    " ",
    "   \t\n\r\n\u2028\x00\x1b",
    SEPARATOR,
    f"a{SEPARATOR}b {SEPARATOR}",
    "\ud83d\ude00 \ud800 \udfff",
    "👩‍👩‍👧 e\u0301 \u202eabc עברית",
    "<0xE2> Ġ Ċ ġ Ā",
    "a" * 20_000,
]


@every
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_hostile_text_comes_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_nobody_can_type_a_separator():
    tokenizer = TOKENIZERS["bpe"]
    assert tokenizer.separator_id == 0
    assert 0 not in tokenizer.encode(f"{SEPARATOR} and {SEPARATOR}")
    assert tokenizer.decode([0]) == SEPARATOR


@every
def test_pieces_of_a_character_show_their_bytes(tokenizer):
    assert "<0x82>" in "".join(tokenizer.tokens(tokenizer.encode("€")))
    assert tokenizer.tokens(tokenizer.encode("a")) == ["a"]


@every
def test_bytes_that_are_no_text_become_replacement_characters(tokenizer):
    assert tokenizer.decode(tokenizer.encode("€")[:1]) == "\ufffd"


def test_merges_shorten_text_and_are_the_same_every_time():
    tokenizer = TOKENIZERS["bpe"]
    assert len(tokenizer.encode(TEXT)) < len(TEXT) / 2
    again = BPETokenizer.train([TEXT] * 5, 320)
    assert again.encode(TEXT) == tokenizer.encode(TEXT)
    assert again.vocab_size == tokenizer.vocab_size <= 320


@every
def test_a_saved_tokenizer_is_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    loaded = load_tokenizer(tmp_path / "tokenizer.json")
    assert type(loaded) is type(tokenizer)
    assert loaded.vocab_size == tokenizer.vocab_size
    for text in (TEXT, *HOSTILE):
        assert loaded.encode(text) == tokenizer.encode(text)


def test_surrogates_in_an_alphabet_survive_the_file(tmp_path):
    tokenizer = CharacterTokenizer("\ud800a")
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path / "tokenizer.json").encode("a\ud800") == [257, 256]


def test_what_cannot_be_made_is_refused():
    with pytest.raises(ValueError, match="names a character twice"):
        CharacterTokenizer("aba")
    with pytest.raises(ValueError, match="vocab_size=256 must be at least 257: 256 bytes and the separator"):
        BPETokenizer.train([TEXT], 256)
    with pytest.raises(ValueError, match="a byte-level vocabulary has all 256 bytes; this one lacks 255"):
        BPETokenizer(HFTokenizer(models.BPE(vocab={"a": 0}, merges=[])))


DAMAGED = {
    "empty": "",
    "no JSON": "{kind",
    "a list": "[]",
    "a number": "3",
    "an unknown kind": json.dumps({"kind": "words"}),
    "no alphabet": json.dumps({"kind": "characters"}),
    "an alphabet with a double": json.dumps({"kind": "characters", "alphabet": "aa"}),
    "deep": "[" * 100_000,
    "a word-level tokenizer": json.dumps({"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}}}),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=list(DAMAGED))
def test_a_damaged_file_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="is not a tokenizer file") as refused:
        load_tokenizer(path)
    assert str(path) in str(refused.value)


def test_a_missing_file_is_refused_with_its_name(tmp_path):
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read: No such file"):
        load_tokenizer(tmp_path / "tokenizer.json")
