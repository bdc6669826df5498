"""Surprisal and bits per byte against a direct computation, texts longer than the context included; next tokens."""

import math

import numpy as np
import pytest
import torch

from tests.nightly import often
from tests.small import model
from tfcore.measures.text_loss import (
    bits_per_byte,
    every_next,
    first_explained,
    next_losses,
    next_tokens,
    surprisal,
    top,
)
from tfcore.tokenizers.tokenizer import BPETokenizer

TOKENIZER = BPETokenizer.train(["the dog and the cat and the dog"], 264)


def direct(subject, ids, context):
    """One forward pass a token, over the window that must predict it: windows start every half context."""
    half, losses = max(1, context // 2), []
    for i in range(1, len(ids)):
        start = max(0, -(-(i - context) // half)) * half
        log_p = subject(torch.tensor([ids[start:i]])).logits[0, -1].log_softmax(-1)
        losses.append(-float(log_p[ids[i]]))
    return losses


@pytest.mark.parametrize("context", often([1, 2, 5, 8], [1, 5]))
@pytest.mark.parametrize("length", [1, 2, 5, 6, 8, 9, 10, 23])
def test_surprisal_is_what_the_model_says_of_each_token(context, length):
    subject = model(max_seq_len=context, positions="learned")
    ids = torch.randint(0, 61, (length,)).tolist()
    found = surprisal(subject, ids)
    assert found.shape == (length - 1,)
    assert found.tolist() == pytest.approx(direct(subject, ids, context), abs=1e-5)


def test_a_model_that_knows_nothing_pays_log2_of_its_vocabulary_for_every_token():
    subject = model(vocab_size=264, init_std=0.0)
    documents = ["the dog and the cat", "Ärger, 犬 und the dog " * 5, ""]
    tokens = sum(len(TOKENIZER.encode(document)) for document in documents)
    size = sum(len(document.encode()) for document in documents)
    found = bits_per_byte(subject, TOKENIZER, iter(documents))
    assert found == pytest.approx(tokens * math.log2(264) / size, rel=1e-5)


def test_bits_per_byte_adds_up_the_surprisal_of_documents_read_from_the_separator_on():
    subject = model(vocab_size=264)
    documents = ["the cat", "a dog \ud800"]
    nats = sum(float(surprisal(subject, [0, *TOKENIZER.encode(d)]).sum()) for d in documents)
    size = sum(len(d.encode("utf-8", "surrogatepass")) for d in documents)
    assert bits_per_byte(subject, TOKENIZER, documents) == pytest.approx(nats / math.log(2) / size, rel=1e-6)


def test_nothing_to_read_costs_nothing():
    assert surprisal(model(), []).shape == (0,)
    assert bits_per_byte(model(vocab_size=264), TOKENIZER, []) == 0


def test_next_tokens_are_the_largest_of_the_softmax():
    subject, ids = model(), [3, 1, 4, 1, 5]
    expected = subject(torch.tensor([ids])).logits[0, -1].softmax(-1).tolist()
    order = sorted(range(61), key=lambda i: -expected[i])
    found = next_tokens(subject, ids, 4)
    assert found.ids.tolist() == order[:4]
    assert found.probabilities.tolist() == pytest.approx([expected[i] for i in order[:4]])
    assert top(np.array([0.25, 0.75], np.float32), 5).ids.tolist() == [1, 0]


def test_one_run_gives_the_next_tokens_after_every_token():
    subject, ids = model(), [3, 1, 4, 1, 5]
    for place, found in enumerate(every_next(subject, ids, 4)):
        alone = next_tokens(subject, ids[: place + 1], 4)
        assert found.ids.tolist() == alone.ids.tolist()
        assert found.probabilities.tolist() == pytest.approx(alone.probabilities.tolist(), rel=1e-5)
    assert len(every_next(subject, ids, 99)[0].ids) == 61


@pytest.mark.parametrize("ended", ["It rained.", "“It rained.”", "Did it? ", "It rained!\n", "def f():\n"])
def test_after_a_sentence_the_surest_prediction_is_explained_at_first(ended):
    assert first_explained(ended, [0.1, 0.7, 0.2]) == 1


@pytest.mark.parametrize("text", ["It rained. The", "9.5", "half a percentage", "e.g. this"])
def test_within_a_sentence_the_last_one_is(text):
    assert first_explained(text, [0.1, 0.7, 0.2]) == 2


def test_losses_of_one_text_in_every_row_and_of_a_text_a_row():
    logits = torch.randn(3, 4, 7, generator=torch.Generator().manual_seed(0))
    rows = torch.tensor([[1, 2, 3, 4], [0, 6, 5, 4], [1, 1, 1, 1]])
    p = logits.double().softmax(-1)
    found, same = next_losses(logits, rows), next_losses(logits, rows[0].tolist())
    for row in range(3):
        for place in range(3):
            assert found[row, place] == pytest.approx(-math.log(p[row, place, rows[row, place + 1]]), abs=1e-5)
            assert same[row, place] == pytest.approx(-math.log(p[row, place, rows[0, place + 1]]), abs=1e-5)
    assert next_losses(logits[:, :1], [2]).shape == (3, 0)
