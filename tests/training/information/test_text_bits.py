"""A text in bits: every token against a pass of its own, starts counted as agreed."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tfcore
from tests.small import model
from tests.tokenizers.test_foreign_tokenizers import byte_level, word_piece
from tfcore.measures import text_loss
from tfcore.measures.text_loss import TextBits, bits_per_byte, surprisal
from tfcore.tokenizers.foreign import ForeignTokenizer
from tfcore.tokenizers.tokenizer import BPETokenizer, ByteTokenizer
from tfcore.views.training.information.measure import text_bits
from tfcore.views.training.information.say import text_bits as say
from tfcore.views.training.information.say.text_bits import PerplexityLandmarks, TokenSurprisal

TOKENIZER = BPETokenizer.train(["the dog and the cat and the dog"], 264)
TEXT = "the dog and Ä 犬 cat"


def test_tokens_cost_what_the_model_says_and_add_up_to_bits_per_byte():
    subject = model(vocab_size=264)
    found = text_loss.text_bits(subject, TOKENIZER, TEXT)
    ids = [TOKENIZER.separator_id, *TOKENIZER.encode(TEXT)]
    direct = [
        -float(subject(torch.tensor([ids[:i]])).logits[0, -1].log_softmax(-1)[ids[i]]) for i in range(1, len(ids))
    ]
    assert found.bits.tolist() == pytest.approx([nats / math.log(2) for nats in direct], abs=1e-4)
    assert found.per_byte == pytest.approx(bits_per_byte(subject, TOKENIZER, [TEXT]), rel=1e-5)
    assert (found.sizes.sum(), found.n_bytes, found.start) == (len(TEXT.encode()), len(TEXT.encode()), "<|endoftext|>")
    assert found.whole


def test_without_a_sign_at_the_start_the_first_token_costs_the_vocabulary():
    found = text_loss.text_bits(model(vocab_size=256), ByteTokenizer(), "abc")
    assert found.bits[0] == 8
    assert (len(found.bits), found.start) == (3, "")


def test_a_tokenizers_own_start_is_no_part_of_the_text():
    tokenizer = ForeignTokenizer(byte_level("<s> $A", ("<s>",)), byte_level=True)
    read = text_loss.framed(tokenizer, "the cat")
    assert tokenizer.decode([*read.before]) == ""
    assert len(read.before) == 1
    assert (tokenizer.decode(list(read.ids)), read.whole) == ("the cat", True)


def test_what_a_tokenizer_puts_around_a_text_is_left_out_and_a_changed_text_is_noticed():
    inner = word_piece()
    inner.no_padding()
    inner.no_truncation()
    tokenizer = ForeignTokenizer(inner)
    read = text_loss.framed(tokenizer, "The CAT")
    around = tokenizer.encode("")
    assert [*read.before, *read.ids, around[-1]] == tokenizer.encode("The CAT")
    assert not read.whole


class Announced(ByteTokenizer):
    """Puts two tokens before every text."""

    def encode(self, text):
        return [1, 2, *super().encode(text)]


def test_of_two_signs_at_the_start_the_second_is_no_part_of_the_text():
    subject = model(vocab_size=256)
    found = text_loss.text_bits(subject, Announced(), "abc")
    p = subject(torch.tensor([[1, 2]])).logits[0, -1].softmax(-1)[ord("a")]
    assert (len(found.bits), found.bits[0]) == (3, pytest.approx(-math.log2(p), abs=1e-4))
    with pytest.raises(ValueError, match="token -1 has nothing before it"):
        text_bits.window_of(subject, Announced(), "abc", -1)


@pytest.mark.parametrize("context", [4, 7, 32])
def test_expectations_belong_to_the_very_bits(context):
    subject = model(vocab_size=264, max_seq_len=context)
    found = text_loss.text_bits(subject, TOKENIZER, TEXT)
    for at in range(len(found.ids)):
        start = text_bits.window_of(subject, TOKENIZER, TEXT, at)
        guess = text_bits.predict_window(subject, TOKENIZER, TEXT, start, 264)[at]
        assert -math.log2(guess.probabilities[guess.rank - 1]) == pytest.approx(found.bits[at], abs=1e-3)
        assert guess.tokens[guess.rank - 1] == found.tokens[at]


def test_a_window_is_predicted_in_pieces_and_windows_begin_every_half_context(monkeypatch):
    given = model(vocab_size=264), TOKENIZER, TEXT, 2, 3
    whole = text_bits.predict_window(*given)
    monkeypatch.setattr(text_bits, "ROWS", 3)
    pieces = text_bits.predict_window(*given)
    assert [(at, one.tokens, one.rank) for at, one in pieces.items()] == [
        (at, one.tokens, one.rank) for at, one in whole.items()
    ]
    assert [text_bits.window_start(place, 1) for place in range(5)] == [0, 0, 1, 2, 3]
    assert [text_bits.window_start(place, 4) for place in range(8)] == [0, 0, 0, 0, 0, 2, 2, 4]


def test_a_token_that_is_not_there_has_no_expectation():
    with pytest.raises(ValueError, match="nothing before it"):
        text_bits.window_of(model(vocab_size=256), ByteTokenizer(), "abc", 0)
    with pytest.raises(ValueError, match="none of the 3"):
        text_bits.window_of(model(vocab_size=256), ByteTokenizer(), "abc", 3)


def test_a_long_context_is_read_in_windows():
    subject, ids = model(max_seq_len=32), torch.randint(0, 61, (40,)).tolist()
    short = surprisal(subject, ids, 8)
    assert torch.equal(short, surprisal(subject, ids, 8))
    assert torch.allclose(short[:8], surprisal(subject, ids)[:8], atol=1e-5)
    assert not torch.allclose(short, surprisal(subject, ids), atol=1e-3)


def test_who_needs_as_much_as_a_uniform_guess_knows_no_text(monkeypatch):
    monkeypatch.setattr(text_bits, "SENTENCE", "a")
    assert text_loss.text_bits(model(vocab_size=256), ByteTokenizer(), "a").per_byte == text_bits.UNIFORM
    assert not text_bits.knows_text(model(vocab_size=256), ByteTokenizer())


def test_a_model_of_bare_numbers_knows_no_text():
    assert text_bits.knows_text(*tfcore.load("stories"))
    assert not text_bits.knows_text(*tfcore.load("induction"))


@pytest.mark.parametrize(
    ("text", "most", "kept"), [("abc", 3, "abc"), ("abc", 2, "ab"), ("aéé", 4, "aé"), ("😀", 3, "")]
)
def test_texts_are_cut_in_whole_characters(text, most, kept):
    assert text_bits.cut_bytes(text, most) == kept


def text_of(bits, tokens=None, start="<s>", whole=True):
    """A text of tokens with these bits, two bytes each."""
    n = len(bits)
    tokens = tokens or tuple(f"t{i}" for i in range(n))
    return TextBits(tuple(range(n)), tokens, np.array(bits, float), np.full(n, 2), 2 * n, start, whole)


def test_the_cost_of_a_text():
    found = say.text_cost(text_of([1.0, 2.0, 9.0]))
    assert (found.total, found.per_token, found.per_byte, found.tokens, found.n_bytes) == (12, 4, 2, 3, 6)
    assert found.metrics == {
        "bits per token": "4.000",
        "perplexity": "16.00",
        "bits per byte": "2.000",
        "bits in all": "12.0",
        "tokens": "3",
        "bytes": "6",
    }
    assert str(found) == (
        "12.0 bits in all for 3 tokens of 6 bytes: 4.000 bits per token (perplexity 16.00), 2.000 per byte."
    )


def test_a_perplexity_stands_among_landmarks():
    ids = (7, 7, 7, 9)
    found = TextBits(ids, tuple("aaab"), np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=np.int64), 4, "", True)
    said = say.perplexity_landmarks(found, 49_152)
    assert said.perplexity == pytest.approx(2**2.5)
    assert said.own == pytest.approx(1 / (0.75**0.75 * 0.25**0.25))  # the geometric mean of 1 / share
    assert "perplexity of 5.7 is the uncertainty of 5.7 tokens" in str(said)
    assert "1.8, guessing each token as often as it occurs in this text; 49,152, guessing all" in str(said)


def test_how_the_first_token_is_counted():
    assert str(say.first_token(text_of([3.0, 1.0], start="\n"))) == (
        "The first token has no text before it: it is counted as read after ⏎, the sign that a text begins."
    )
    changed = str(say.first_token(text_of([3.25, 1.0], start="", whole=False)))
    assert changed.startswith("Nothing stands before the first token, so it is counted as if all tokens of the ")
    assert "equally likely: 3.2 bits. This tokenizer does not give the text back to the letter" in changed
    assert "letter" not in str(say.first_token(text_of([3.25, 1.0], start="")))


def test_the_surprisal_of_a_token_is_the_one_looked_at():
    text = text_of([1.0, 3.0, 16.0], tokens=("a", " b", "c"))
    found = say.token_surprisal(text, 1, 1_234)
    assert (found.at, found.token, found.bits, found.rank, found.share) == (1, "·b", 3.0, 1_234, 0.15)
    assert str(found) == (
        "Token 1, “·b”, came with probability 0.12: 3.00 bits, as surprising as one of 8.0 equally likely tokens. Its "
        "rank in the model's prediction is 1,234, and it is 15.0% of the cost of the text."
    )
    assert "probability 1.5 × 10⁻⁵: 16.00 bits, as surprising as one of 65,500 equally" in str(
        say.token_surprisal(text, 2, 1)
    )
    assert "one of 2^40 equally" in str(say.token_surprisal(text_of([40.0]), 0, 1))


def test_the_best_guess_is_the_first_of_a_prediction():
    prediction = text_bits.RankedPrediction((" cat", "dog"), np.array([0.6, 0.3]), 7)
    found = say.first_guess(prediction)
    assert tuple(found.values.values()) == ("·cat", 0.6, 7)
    assert str(found) == "Predicted there: first '·cat' with 60.0%. The token of the text has rank 7."


@given(bits=st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_how_few_tokens_make_half_of_the_bits(bits):
    half, count, total = sum(bits) / 2, 0, 0
    for one in sorted(bits, reverse=True):
        if total >= half:
            break
        total, count = total + one, count + 1
    found = say.concentration(text_of([float(one) for one in bits]))
    assert dict(found.values) == {
        "half": count,
        "tokens": len(bits),
        "total": sum(bits),
        "largest": f"t{bits.index(max(bits))}",
        "largest_bits": max(bits),
    }


def test_what_is_said_of_the_concentration():
    found = text_of([1.0, 6.0, 2.0, 1.0], tokens=("a", "\n", "c", "d"))
    assert str(say.few_tokens(found)) == "1 of the 4 tokens make half of all bits."
    assert (
        str(say.concentration(found)) == "1 of 4 tokens make half of the 10.0 bits; the largest step is '⏎' with 6.0."
    )


def test_one_in_so_many_tokens():
    for bits, like in ((6.0, "64.0"), (6.5, "90"), (29.9, "1,000,000,000"), (30.0, "2^30")):
        assert f"one of {like} equally" in str(TokenSurprisal(1, "a", bits, 1, 0.1))
    assert "perplexity of 1,000 is" in str(PerplexityLandmarks(1000.0, 1.0, 64))
    assert "perplexity of 999.0 is" in str(PerplexityLandmarks(999.0, 1.0, 64))
