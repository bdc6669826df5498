"""Blanks are filled from what is left, and counted right."""

import pytest
import torch

from tests.small import model
from tfcore.measures.masked_tokens import SHARE, fill_masked, filled, guesses, mask_id, with_blanks
from tfcore.measures.translation import source_ids
from tfcore.model import Output
from tfcore.tokenizers.tokenizer import BPETokenizer

TOKENIZER = BPETokenizer.train(["a dog and a cat saw a bird"], 280)
STORIES = ["a dog saw a cat and a bird saw a dog"] * 30


def encoder():
    return model(architecture="encoder", head="mlm", vocab_size=TOKENIZER.vocab_size + 1, max_seq_len=16)


def test_what_is_hidden_is_out_of_sight():
    subject, ids = encoder(), torch.tensor([TOKENIZER.encode("a dog saw a cat")])
    hidden = torch.zeros_like(ids, dtype=torch.bool)
    hidden[0, 1] = True
    other = ids.clone()
    other[0, 1] = 200
    blank = mask_id(TOKENIZER)
    scores = fill_masked(subject, ids, hidden, blank)
    assert torch.equal(scores, fill_masked(subject, other, hidden, blank))
    assert bool((scores[..., blank] == -torch.inf).all()), "a blank is no guess"


def test_a_blank_takes_the_space_before_it_along():
    blank, end = mask_id(TOKENIZER), TOKENIZER.separator_id
    found = with_blanks(TOKENIZER, "a ___ saw a cat", "___")
    whole = [end, *TOKENIZER.encode("a dog saw a cat")]
    hole = found.index(blank)
    assert whole[:hole] == found[:hole]
    assert TOKENIZER.decode(found[hole + 1 :]) == " saw a cat"
    assert with_blanks(TOKENIZER, "______", "___") == [end, blank, blank]


def test_a_text_begins_with_the_separator_whatever_its_id(monkeypatch):
    monkeypatch.setattr(BPETokenizer, "separator_id", 7)
    assert with_blanks(TOKENIZER, "___", "___") == [7, mask_id(TOKENIZER)]
    assert filled(knowing(1), TOKENIZER, STORIES).top1 == 1
    assert source_ids(TOKENIZER, "") == [7]


def test_guesses_are_the_model_s_probabilities_in_the_blanks():
    subject, blank = encoder(), mask_id(TOKENIZER)
    ids = with_blanks(TOKENIZER, "a ___ saw ___", "___")
    found = guesses(subject, TOKENIZER, ids)
    scores = subject(torch.tensor([ids])).logits[0, [i for i, token in enumerate(ids) if token == blank], :blank]
    torch.testing.assert_close(torch.from_numpy(found[:, :blank]), scores.detach().softmax(-1))
    assert (found[:, blank] == 0).all()


def knowing(place):
    """An encoder that gives every token of the story itself the `place`-th best score."""
    subject, blank = encoder(), mask_id(TOKENIZER)
    stream = [TOKENIZER.separator_id, *TOKENIZER.encode(STORIES[0])]
    windows = {len(window): window for window in (stream[start : start + 16] for start in range(0, len(stream), 16))}

    def forward(ids):
        scores = torch.zeros(1, ids.shape[1], blank + 1)
        for at, token in enumerate(windows[ids.shape[1]]):
            scores[0, at, [(token + i) % blank for i in range(1, 6)]] = torch.arange(7.0, 2, -1)
            scores[0, at, token] = 8.5 - place
        return Output(scores, scores, {})

    assert len(windows) == -(-len(stream) // 16), "windows are told from each other by their lengths"
    subject.forward = forward
    return subject


@pytest.mark.parametrize(("place", "top1", "top5"), [(1, 1, 1), (2, 0, 1), (5, 0, 1), (6, 0, 0)])
def test_first_guesses_and_first_five_are_counted(place, top1, top5):
    found = filled(knowing(place), TOKENIZER, STORIES)
    assert (found.top1, found.top5) == (top1, top5)
    tokens = len(STORIES) * (1 + len(TOKENIZER.encode(STORIES[0])))
    assert found.hidden == pytest.approx(SHARE * tokens, rel=0.25)
    assert filled(knowing(place), TOKENIZER, STORIES) == found
