"""A tokenizer of others does what the library does, in a process of its own: whatever its file says, this one goes on,
and says in one sentence what was wrong."""

import json
import os
import signal
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest

from tests.bounded import bounded, taken
from tests.hostile_tokenizers import GOOD, LATER, LETTERS, NEVER, SEARCHED, added, content, many
from tests.nightly import nightly, often
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.tokenizers import isolated as isolated_tokenizers
from tfcore.tokenizers.foreign import load_tokenizer, tokenizer_of
from tfcore.tokenizers.isolated import IsolatedTokenizer, TokenizerError, isolated, read_tokenizer
from tfcore.tokenizers.tokenizer import BPETokenizer, ByteTokenizer, CharacterTokenizer, NamedTokenizer, Tokenizer
from tfcore.wanted import STILL_WANTED, UnwantedError

OWN = (ByteTokenizer(), CharacterTokenizer("abc é"), NamedTokenizer(("a", "b", "ca")))
TEXTS = ("the quick cat's hat, 12 x", "", " a\nb ", "Éa犬 [MASK] q", "q" * 300, "The end. " * 400)
MEGABYTES, SECONDS = 60, 8.0  # that this process may take for any of them


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    monkeypatch.setattr(isolated_tokenizers, "LOAD_BYTES", 500_000_000)
    monkeypatch.setattr(isolated_tokenizers, "CALL_BYTES", 200_000_000)
    monkeypatch.setattr(isolated_tokenizers, "CALL_SECONDS", 1)


def made(said: dict) -> Any:
    return isolated(json.dumps(said).encode())


@pytest.mark.parametrize("name", often(GOOD, [*GOOD][::3]))
def test_every_component_does_what_it_does_here(name):
    inside, outside = tokenizer_of(json.dumps(GOOD[name])), made(GOOD[name])
    assert isinstance(outside, IsolatedTokenizer)
    assert isinstance(outside, Tokenizer)
    assert outside.vocab_size == inside.vocab_size
    every = [*range(inside.vocab_size), inside.vocab_size, -1]
    assert outside.tokens(every[:-1]) == inside.tokens(every[:-1])
    assert [outside.token_bytes(i) for i in every] == [inside.token_bytes(i) for i in every]
    for text in TEXTS:
        ids = inside.encode(text)
        assert outside.encode(text) == ids
        assert outside.decode(ids) == inside.decode(ids)
    assert outside.encode("a\ud800b") == inside.encode("a\ud800b")


def test_one_of_ours_is_what_it_was(tmp_path):
    """A byte-level tokenizer answers all that BPETokenizer does."""
    path = PRETRAINED / "stories" / "tokenizer.json"
    inside, outside = load_tokenizer(path), read_tokenizer(path)
    assert isinstance(outside, BPETokenizer)
    assert isinstance(inside, BPETokenizer)
    assert outside.separator_id == inside.separator_id
    assert outside.merges == inside.merges
    text = "Once upon a time \ud800 é🐱\x00"
    assert outside.words(text) == inside.words(text)
    assert outside.encode(text) == inside.encode(text)
    assert outside.decode(inside.encode(text)) == text
    outside.save(tmp_path)
    assert read_tokenizer(tmp_path / "tokenizer.json").encode(text) == inside.encode(text)


@pytest.mark.parametrize("inside", OWN, ids=lambda one: type(one).__name__)
def test_our_own_kinds_run_there_too(inside, tmp_path):
    """Limits follow where a file came from, not what reads it."""
    inside.save(tmp_path)
    outside = read_tokenizer(tmp_path / "tokenizer.json")
    assert isinstance(outside, IsolatedTokenizer)
    assert outside.vocab_size == inside.vocab_size
    assert outside.tokens(range(inside.vocab_size)) == inside.tokens(range(inside.vocab_size))
    text = "ab cab é🐱\ud800\x00"
    assert outside.encode(text) == inside.encode(text)
    assert outside.decode(inside.encode(text)) == inside.decode(inside.encode(text))


def one_sentence(refused, *paths: str) -> str:
    sentence = str(refused.value)
    assert 10 < len(sentence) < 500
    assert "\n" not in sentence
    assert "panicked" not in sentence
    assert ".rs" not in sentence
    return sentence


@pytest.mark.parametrize("name", often(NEVER, [*NEVER][::3]))
def test_what_cannot_be_used_is_refused_when_it_is_read(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(NEVER[name].encode("utf-8", "surrogateescape"))
    with bounded(MEGABYTES, SECONDS), pytest.raises(CheckpointError) as refused:
        read_tokenizer(path)
    assert one_sentence(refused).startswith(f"{path} is not a tokenizer file that can be used: ")


@pytest.mark.parametrize("name", often(LATER, [*LATER][::3]))
def test_what_lies_in_wait_is_refused_at_its_text_and_goes_on(name):
    said, text = LATER[name]
    tokenizer = made(said)
    began = time.monotonic()
    with bounded(MEGABYTES, SECONDS), pytest.raises(TokenizerError) as refused:
        tokenizer.decode(tokenizer.encode(text))
    assert time.monotonic() - began < SECONDS
    assert one_sentence(refused).startswith("the model's tokenizer fails at this text: ")
    if name in ("a chain", "a pattern that searches"):  # another text does no harm
        assert tokenizer.decode(tokenizer.encode("b")) == "b"


def test_a_failure_is_told_before_it_is_raised():
    tokenizer, told = made(LATER["a chain"][0]), []
    tokenizer.on_failure = told.append
    with pytest.raises(TokenizerError) as refused:
        tokenizer.encode("q")
    assert told == [refused.value]


def test_truncation_and_padding_are_left_out():
    padding = {
        "strategy": {"Fixed": 10**9},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "a",
    }
    cut = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    assert len(made(content(padding=padding, truncation=cut)).encode("abc")) == 3


def test_ids_that_are_there_twice_and_added_ones_beyond_all_do_no_harm():
    assert made(content(added_tokens=added("[MASK]", first=2**32 - 1))).vocab_size == len(LETTERS) + 1
    tokenizer = made(content({"type": "BPE", "vocab": {"a": 0, "b": 0, "c": 5}, "merges": []}))
    assert tokenizer.vocab_size == 6
    assert tokenizer.tokens(tokenizer.encode("abc"))[-1] == "c"


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with open(tmp_path / "tokenizer.json", "wb") as file:
        file.truncate(40_000_001)
    with bounded(5, 1), pytest.raises(CheckpointError, match=r"has 40\.0 MB, more than the 40\.0 MB a tokenizer may$"):
        read_tokenizer(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match="more than the"):
        isolated(b" " * 40_000_001)


@nightly
def test_a_large_vocabulary_holds_nobody_up(monkeypatch):
    """Read in this process, the same file stops all other threads for more than a second."""
    monkeypatch.setattr(isolated_tokenizers, "LOAD_BYTES", 1_500_000_000)
    file = json.dumps(many(40_000, 14)).encode()
    assert taken(lambda: isolated(file).encode("0000001")).held < 0.5


def test_the_process_ends_with_the_tokenizer():
    tokenizer = made(GOOD["NFC"])
    process = tokenizer._worker._process
    assert process.poll() is None
    del tokenizer
    assert process.poll() is not None


@pytest.mark.parametrize("waits", ["for an answer", "for its turn"])
def test_nobody_who_left_is_waited_for(waits, monkeypatch):
    monkeypatch.setattr(isolated_tokenizers, "CALL_SECONDS", 30)
    tokenizer, wanted, found = made(LATER["a pattern that searches"][0]), threading.Event(), []
    wanted.set()

    def ask():
        STILL_WANTED.set(wanted.is_set)
        with pytest.raises(UnwantedError):
            tokenizer.encode(SEARCHED)
        found.append(waits)

    process, thread = tokenizer._worker._process, threading.Thread(target=ask)
    with tokenizer._worker._lock if waits == "for its turn" else nullcontext():
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        wanted.clear()
        thread.join(5)
    assert found == [waits]
    assert (process.poll() is None) == (waits == "for its turn"), "it does not search on for nobody"
    assert tokenizer.decode(tokenizer.encode("b")) == "b"


def test_a_process_that_was_killed_is_started_again():
    tokenizer = made(GOOD["NFC"])
    before = tokenizer.encode("abc")
    os.kill(tokenizer._worker._process.pid, signal.SIGKILL)
    tokenizer._worker._process.wait()
    assert tokenizer.encode("abc") == before


def test_many_threads_ask_one_at_a_time():
    tokenizer, found = made(GOOD["NFC"]), {}

    def ask(letter):
        found[letter] = [tokenizer.encode(letter * 50) for _ in range(20)]

    threads = [threading.Thread(target=ask, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {letter: {tuple(ids) for ids in rows} for letter, rows in found.items()} == {
        letter: {(i,) * 50} for i, letter in enumerate("abcd")
    }


def test_no_secret_goes_along(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    tokenizer = made(GOOD["NFC"])
    with open(f"/proc/{tokenizer._worker._process.pid}/environ", "rb") as file:
        assert b"secret" not in file.read()
