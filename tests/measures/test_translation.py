"""Translations are measured as sacrebleu does it, and words that mean the same are found by cross-attention."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from tests import small
from tests.nightly import often
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.translation import (
    Linked,
    alignment_accuracy,
    chrf,
    exact,
    read_links,
    source_ids,
    tokens_of,
    translate,
    writing,
)
from tfcore.tokenizers.tokenizer import BPETokenizer

WORDS = st.lists(st.sampled_from(["le", "chat", "est", "assis", "l'été", "où ?", "a", "ça !"]), max_size=8)
SENTENCES = st.lists(st.tuples(WORDS.map(" ".join), WORDS.map(" ".join)), min_size=1, max_size=5)


@given(SENTENCES)
def test_chrf_is_that_of_sacrebleu(both):
    ours, references = ([pair[i] for pair in both] for i in (0, 1))
    expected = CHRF(eps_smoothing=False).corpus_score(ours, [references]).score
    assert chrf(ours, references) == pytest.approx(expected, abs=1e-9)


def test_exact_is_letter_for_letter():
    assert exact(["Va !", "Cours."], ["Va !", "cours."]) == 0.5
    assert exact([], []) == 0


@pytest.mark.parametrize("beams", often([1, 3], [3]))
def test_a_translation_ends_before_the_separator(beams):
    tokenizer = BPETokenizer.train(["a cat", "un chat"], 260)
    subject = small.model(architecture="encoder-decoder", vocab_size=260, max_seq_len=80)
    words = translate(subject, tokenizer, "a cat", beams)
    assert "<|endoftext|>" not in words
    assert words == translate(subject, tokenizer, "a cat", beams)


SENTENCE = Linked("This is a red car.", "C'est une voiture rouge.", {"voiture": "car", "rouge": "red"})


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train([SENTENCE.english, SENTENCE.french], 280)


@pytest.fixture(scope="module")
def model(tokenizer):
    return small.model(architecture="encoder-decoder", vocab_size=tokenizer.vocab_size, max_seq_len=64)


def test_the_tokens_of_a_word_write_it(tokenizer):
    ids = tokenizer.encode(SENTENCE.french)
    for word in ("voiture", "rouge", "C'"):
        places = tokens_of(SENTENCE.french, word, tokenizer)
        assert places == list(range(places[0], places[-1] + 1))
        assert word in tokenizer.decode([ids[i] for i in places])
    with pytest.raises(ValueError, match="substring"):
        tokens_of(SENTENCE.french, "bleue", tokenizer)


def test_a_token_s_row_is_that_of_the_position_that_predicts_it(model, tokenizer):
    ids, written = source_ids(tokenizer, SENTENCE.english), tokenizer.encode(SENTENCE.french)
    found = writing(model, ids, written)
    assert found.patterns.shape[2:] == (len(written), len(ids))
    rows = [[max(row) for head in layer for row in head] for layer in found.patterns]
    np.testing.assert_allclose(found.largest, [sum(row) / len(row) for row in rows], rtol=1e-5)
    name = "decoder.blocks.1.cross_attn.pattern"
    for place in range(len(written)):  # one at a time, as if the rest were not there yet
        so_far = torch.tensor([[model.config.start_id, *written[:place]]])
        with torch.no_grad():
            output = model(torch.tensor([ids]), decoder_ids=so_far, capture=[name])
        np.testing.assert_allclose(found.patterns[1, :, place], output.activations[name][0, :, -1], atol=1e-6)
        np.testing.assert_allclose(found.probabilities[place], output.logits[0, -1].softmax(-1), atol=1e-6)


def test_the_shares_are_those_of_a_loop(model, tokenizer):
    of_heads, of_layers = alignment_accuracy(model, tokenizer, [SENTENCE])
    weights = writing(model, source_ids(tokenizer, SENTENCE.english), tokenizer.encode(SENTENCE.french)).patterns
    hits, together = np.zeros(weights.shape[:2]), np.zeros(weights.shape[0])
    for ours, theirs in SENTENCE.links.items():
        rows, wanted = tokens_of(SENTENCE.french, ours, tokenizer), tokens_of(SENTENCE.english, theirs, tokenizer)
        for layer, head in np.ndindex(hits.shape):
            total = sum(weights[layer, head, row, :-1] for row in rows)
            hits[layer, head] += max(range(len(total)), key=total.__getitem__) in wanted
        for layer in range(len(together)):
            of_layer = sum(weights[layer, head, row, :-1] for row in rows for head in range(hits.shape[1]))
            together[layer] += max(range(len(of_layer)), key=of_layer.__getitem__) in wanted
    np.testing.assert_array_equal(of_heads, hits / 2)
    np.testing.assert_array_equal(of_layers, together / 2)


def test_every_word_on_the_list_is_in_its_sentence_once():
    for sentence in read_links(PRETRAINED / "translate" / "alignment.json"):
        for ours, theirs in sentence.links.items():
            assert (sentence.french.count(ours), sentence.english.count(theirs)) == (1, 1), (sentence, ours)
