"""Corpora into batches: the same for every seed, and a sentence for what is missing."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.other_device import needs_the_cpu
from tests.training.tiny_run import write_corpus
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data
from tfcore.training.data import IGNORE, CorpusError

pytestmark = needs_the_cpu  # batches are put together there


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_documents_are_cut_at_separators_or_empty_lines(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\nstill one<|endoftext|>\n<|endoftext|> two \n")
    (tmp_path / "b.txt").write_text("one\nstill one\n \ntwo\n\n\nthree\n")
    assert data.read_source(tmp_path, ("a.txt", "")) == ["one\n\nstill one", "two"]
    assert data.read_source(tmp_path, ("b.txt", "")) == ["one\nstill one", "two", "three"]


def test_lines_cut_in_the_middle_of_a_sentence_are_joined():
    text = "There was\na king.\nHe had\n\na horse,\nblack"
    assert data.unwrap(text) == "There was a king.\nHe had\n\na horse, black"


def test_held_out_stories_are_not_in_the_training_text(tmp_path):
    write_corpus(tmp_path)
    path = tmp_path / data.VALID[0]
    shared = data.read_source(tmp_path, data.STORY_SOURCES["tinystories"])[0]
    path.write_text(path.read_text() + "<|endoftext|>" + shared)
    held_out = data.held_out(tmp_path)
    assert len(held_out) == 8
    assert shared not in held_out


def test_what_is_missing_or_unusable_is_a_sentence_with_the_path(tmp_path):
    source = data.STORY_SOURCES["tinystories"]
    path = tmp_path / source[0]
    where = re.escape(str(path))
    with pytest.raises(CorpusError, match=f"^{where} is missing: it should hold TinyStories by Eldan and Li"):
        data.read_source(tmp_path, source)
    path.parent.mkdir()
    path.write_bytes(b"abc\xff")
    with pytest.raises(CorpusError, match=f"^{where} is not UTF-8 text at byte 3; it should hold"):
        data.read_source(tmp_path, source)
    path.write_text("\n<|endoftext|>\n ")
    with pytest.raises(CorpusError, match=f"^{where} is empty: it should hold"):
        data.read_source(tmp_path, source)


def test_every_document_starts_with_the_separator():
    tokenizer = BPETokenizer.train(["a dog"], 260)
    stream = data.encode_documents(tokenizer, ["a dog", "", "dog"])
    assert stream.dtype == np.int32
    assert stream.tolist() == [0, *tokenizer.encode("a dog"), 0, 0, *tokenizer.encode("dog")]


@given(rows=st.integers(1, 4), seq=st.integers(10, 60), most=st.integers(4, 60), seed=st.integers(0, 99))
def test_repeated_tokens_repeat_and_count_only_where_they_can_be_known(rows, seq, most, seed):
    batch = data.repeated_tokens(rows, seq, 100 + torch.arange(most), generator(seed))
    assert batch.ids.shape == batch.targets.shape == (rows, seq)
    assert 100 <= batch.ids.min() <= batch.ids.max() < 100 + most
    for ids, targets in zip(batch.ids.tolist(), batch.targets.tolist(), strict=True):
        period = next(i for i, target in enumerate(targets) if target != IGNORE) + 1
        assert min(8, seq // 2) - 1 <= period <= 0.8 * seq
        for i in range(seq):
            assert targets[i] == (IGNORE if i + 1 < period else ids[i + 1 - period])
            assert i < period or ids[i] == ids[i - period]


STREAMS = {"even": np.arange(0, 400, 2, dtype=np.int32), "odd": np.arange(1, 401, 2, dtype=np.int32)}


def test_the_most_frequent_ids_come_first():
    streams = [np.array([3, 1, 3, 3], dtype=np.int32), np.array([1, 4], dtype=np.int32)]
    assert data.by_frequency(streams, 6).tolist() == [3, 1, 4, 0, 2, 5]


def test_windows_are_runs_of_a_source_and_targets_the_next_token():
    batch = data.text_windows(STREAMS, {"even": 0.5, "odd": 0.5}, 50, 7, generator())
    assert batch.ids.shape == batch.targets.shape == (50, 7)
    assert torch.equal(batch.targets, batch.ids + 2)
    assert batch.ids.dtype == torch.int64
    share = float((batch.ids[:, 0] % 2).float().mean())
    assert 0.2 < share < 0.8
    only = data.text_windows(STREAMS, {"even": 0.0, "odd": 1.0}, 50, 7, generator())
    assert bool((only.ids % 2 == 1).all())


def test_batches_follow_from_the_seed_alone():
    def batch(seed):
        g = generator(seed)
        windows = data.text_windows(STREAMS, {"even": 0.3, "odd": 0.7}, 5, 20, g)
        return data.join(windows, data.repeated_tokens(2, 20, torch.arange(9), g))

    torch.manual_seed(1)
    first = batch(3)
    torch.manual_seed(2)
    second = batch(3)
    assert torch.equal(first.ids, second.ids)
    assert torch.equal(first.targets, second.targets)
    assert not torch.equal(first.ids, batch(4).ids)
    assert first.ids.shape == (7, 20)
