"""Two sentences: the parts add up to the cosine of the mean vectors, and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.nightly import nightly
from tfcore.loading.checkpoints import load
from tfcore.views.inside.probing import say
from tfcore.views.inside.probing.measure import sentence_pairs
from tfcore.views.inside.probing.measure.sentence_pairs import SentencePair

ONE, TWO = "The dog saw a cat.", "A cat ran."


def test_the_parts_are_the_cosine():
    model, tokenizer = load("fill", device="cpu")
    found = sentence_pairs.compare_sentences(model, tokenizer, ONE, TWO)
    means = [model(torch.tensor([tokenizer.encode(text)])).hidden[0].mean(0) for text in (ONE, TWO)]
    expected = torch.nn.functional.cosine_similarity(means[0], means[1], dim=0)
    assert found.cosine == pytest.approx(float(expected), abs=1e-5)
    assert found.parts.shape == (len(tokenizer.encode(ONE)), len(tokenizer.encode(TWO)))
    h = model(torch.tensor([tokenizer.encode(ONE)])).hidden[0, 2]
    g = model(torch.tensor([tokenizer.encode(TWO)])).hidden[0, 1]
    share = float(h @ g / (means[0].norm() * means[1].norm()) / found.parts.size)
    assert found.parts[2, 1] == pytest.approx(share, abs=1e-5)
    with pytest.raises(ValueError, match="at least one token"):
        sentence_pairs.compare_sentences(model, tokenizer, ONE, "")


@pytest.mark.parametrize(("pooling", "place"), [("first", 0), ("last", -1)])
def test_the_vector_of_one_token_has_its_cosine_in_one_cell(pooling, place):
    model, tokenizer = load("fill", device="cpu")
    model.config = replace(model.config, sentences=pooling)
    found = sentence_pairs.compare_sentences(model, tokenizer, ONE, TWO)
    states = [model(torch.tensor([tokenizer.encode(text)])).hidden[0, place] for text in (ONE, TWO)]
    expected = float(torch.nn.functional.cosine_similarity(*states, dim=0))
    assert found.cosine == found.parts[place, place] == pytest.approx(expected, abs=1e-5)
    assert np.count_nonzero(found.parts) == 1
    said = say.similarity(found)
    assert str(said).startswith(f"Cosine similarity {expected:.3f}, of the states of the {pooling} tokens alone, '")
    assert said.values["one"] == found.one[place]
    model.config = replace(model.config, sentences="unread")
    with pytest.raises(ValueError, match="a rule that is not read here"):
        sentence_pairs.compare_sentences(model, tokenizer, ONE, TWO)


def test_vectors_of_zeros_have_the_cosine_zero():
    model, tokenizer = load("fill", device="cpu")
    with torch.no_grad():
        for part in (model.encoder or model.decoder).parameters():
            part.zero_()
    assert sentence_pairs.compare_sentences(model, tokenizer, ONE, TWO).cosine == 0


def test_minilm_knows_a_paraphrase(real_models):
    model, tokenizer = load("minilm", device="cpu")
    found = sentence_pairs.compare_sentences(model, tokenizer, "How old are you?", "What is your age?")
    assert found.special[0] == (True, *[False] * 5, True)
    assert found.special[1] == (True, *[False] * 5, True)
    other = sentence_pairs.compare_sentences(model, tokenizer, "How old are you?", "The market fell sharply.")
    assert found.cosine > 0.7 > 0.2 > other.cosine


FERRY = (
    "The harbour office posts the ferry times each evening, and because the tide turns early this week the first boat "
    "leaves before six, the second at half past eight, and the last one only when the lamps are lit."
)


@nightly
def test_a_long_sentence_is_read_whole_and_one_too_long_keeps_its_end(real_models):
    model, tokenizer = load("minilm", device="cpu")
    found = sentence_pairs.compare_sentences(model, tokenizer, FERRY, ONE)
    assert len(found.one) == len(tokenizer.encode(FERRY)) > 40
    with torch.no_grad():
        means = [model(torch.tensor([tokenizer.encode(text)])).hidden[0].mean(0) for text in (FERRY, ONE)]
    assert found.cosine == pytest.approx(float(torch.nn.functional.cosine_similarity(*means, dim=0)), abs=1e-5)
    longest = model.config.max_seq_len
    cut = sentence_pairs.compare_sentences(model, tokenizer, "one " * (longest + 9), ONE)
    assert (len(cut.one), cut.one[-1], cut.special[0]) == (longest, "[SEP]", (True, *[False] * (longest - 2), True))


def test_what_is_said():
    parts = np.array([[0.2, 0.0, 0.1], [0.0, 0.05, -0.02], [0.1, 0.15, 0.0]])
    found = SentencePair(("[CLS]", "dog", "cat"), ("[CLS]", "cat", "ran"), ((True, False, False),) * 2, parts)
    said = say.similarity(found)
    assert [said.values[name] for name in ("one", "two", "part")] == ["cat", "cat", 0.15]
    assert said.values["special"] == pytest.approx(0.2 + 0.1 + 0.1)
    assert str(said) == (
        "Cosine similarity 0.580, the sum of 3 x 3 pairs of tokens. 'cat' with 'cat' adds most: +0.1500; a pair adds "
        "+0.0644 on average. Pairs with a special token add +0.400."
    )
    share = say.token_share(found, 0)
    assert (share.values["token"], share.values["least"]) == ("[CLS]", "dog")
    assert str(say.token_share(found, 1)) == (
        "Of the second sentence '[CLS]' adds most, +0.300, and 'ran' least, +0.080."
    )
    bare = SentencePair(("a",), ("b",), ((False,), (False,)), np.array([[0.5]]))
    assert "special" not in str(say.similarity(bare))
    ends = SentencePair(("[CLS]",), ("b",), ((True,), (False,)), np.array([[0.5]]))
    assert say.similarity(ends).values["one"] == "[CLS]"
