"""Texts that a model writes itself: they begin as they were begun, and go on as the model would."""

from itertools import islice

import torch

from tests.nightly import nightly
from tests.small import model as small
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import written_texts as written
from tfcore.training.written_texts import CHAT, TURNS, beginnings, written_texts

TOKENIZER = BPETokenizer.train(list(islice(beginnings(), 400)), 400)


def subject():
    return small(vocab_size=400, max_seq_len=40)


def test_each_begins_as_it_was_begun():
    rows = torch.cat(list(written_texts(subject(), TOKENIZER, 20, 40, at_once=8)))
    assert rows.shape == (20, 40)
    for row, beginning in zip(rows.tolist(), beginnings(), strict=False):
        given = TOKENIZER.encode(beginning)[:40]
        assert row[: len(given)] == given


def test_they_go_on_as_the_model_would(monkeypatch):
    """At next to no temperature the most likely token is drawn, which `generate` takes."""
    monkeypatch.setattr(written, "TEMPERATURE", 1e-6)
    (rows,) = written.written_texts(subject(), TOKENIZER, 3, 40)
    for row, beginning in zip(rows.tolist(), beginnings(), strict=False):
        given = TOKENIZER.encode(beginning)[:40]
        assert row[len(given) :] == generate(subject(), given, Sampling(temperature=0), max_new_tokens=40 - len(given))


@nightly
def test_the_seed_decides():
    found = [torch.cat(list(written_texts(subject(), TOKENIZER, 6, 40, seed=seed))) for seed in (0, 0, 1)]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_every_beginning_is_another_for_long_and_some_are_chats():
    first = list(islice(beginnings(), 240))
    assert len(set(first)) > 180
    chats = [one for one in first if one.startswith(CHAT.split("{")[0])]
    assert len(chats) == len(first) // TURNS
    assert not any(one.endswith(" ") for one in first)
