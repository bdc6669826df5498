"""Translations are measured as sacrebleu does it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from tests.small import model
from tfcore.analysis.model.translation import chrf, exact, translate
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


@pytest.mark.parametrize("beams", [1, 3])
def test_a_translation_ends_before_the_separator(beams):
    tokenizer = BPETokenizer.train(["a cat", "un chat"], 260)
    subject = model(architecture="encoder-decoder", vocab_size=260, max_seq_len=80)
    words = translate(subject, tokenizer, "a cat", beams)
    assert "<|endoftext|>" not in words
    assert words == translate(subject, tokenizer, "a cat", beams)
