"""A text in bits: every token against a pass of its own, starts counted as agreed, and peers that are honest."""

import lzma
import math
import zlib

import pytest
import torch

import tfcore
from tests.small import model
from tests.tokenizers.test_foreign_tokenizers import byte_level, word_piece
from tfcore.analysis.training import text_bits
from tfcore.analysis.training.information import bits_per_byte, surprisal
from tfcore.tokenizers.foreign import ForeignTokenizer
from tfcore.tokenizers.tokenizer import BPETokenizer, ByteTokenizer

TOKENIZER = BPETokenizer.train(["the dog and the cat and the dog"], 264)
TEXT = "the dog and Ä 犬 cat"


def test_tokens_cost_what_the_model_says_and_add_up_to_bits_per_byte():
    subject = model(vocab_size=264)
    found = text_bits.text_bits(subject, TOKENIZER, TEXT)
    ids = [TOKENIZER.separator_id, *TOKENIZER.encode(TEXT)]
    direct = [
        -float(subject(torch.tensor([ids[:i]])).logits[0, -1].log_softmax(-1)[ids[i]]) for i in range(1, len(ids))
    ]
    assert found.bits.tolist() == pytest.approx([nats / math.log(2) for nats in direct], abs=1e-4)
    assert found.per_byte == pytest.approx(bits_per_byte(subject, TOKENIZER, [TEXT]), rel=1e-5)
    assert (found.sizes.sum(), found.n_bytes, found.start) == (len(TEXT.encode()), len(TEXT.encode()), "<|endoftext|>")
    assert found.whole


def test_without_a_sign_at_the_start_the_first_token_costs_the_vocabulary():
    found = text_bits.text_bits(model(vocab_size=256), ByteTokenizer(), "abc")
    assert found.bits[0] == 8
    assert (len(found.bits), found.start) == (3, "")


def test_a_tokenizers_own_start_is_no_part_of_the_text():
    tokenizer = ForeignTokenizer(byte_level("<s> $A", ("<s>",)), byte_level=True)
    read = text_bits.framed(tokenizer, "the cat")
    assert tokenizer.decode([*read.before]) == ""
    assert len(read.before) == 1
    assert (tokenizer.decode(list(read.ids)), read.whole) == ("the cat", True)


def test_what_a_tokenizer_puts_around_a_text_is_left_out_and_a_changed_text_is_noticed():
    inner = word_piece()
    inner.no_padding()
    inner.no_truncation()
    tokenizer = ForeignTokenizer(inner)
    read = text_bits.framed(tokenizer, "The CAT")
    around = tokenizer.encode("")
    assert [*read.before, *read.ids, around[-1]] == tokenizer.encode("The CAT")
    assert not read.whole


@pytest.mark.parametrize("context", [4, 7, 32])
def test_expectations_belong_to_the_very_bits(context):
    subject = model(vocab_size=264, max_seq_len=context)
    found = text_bits.text_bits(subject, TOKENIZER, TEXT)
    for at in range(len(found.ids)):
        guess, rank = text_bits.expected(subject, TOKENIZER, TEXT, at, 264)
        place = guess.ids.tolist().index(found.ids[at])
        assert -math.log2(guess.chance[place]) == pytest.approx(found.bits[at], abs=1e-3)
        assert rank == place + 1


def test_a_token_that_is_not_there_has_no_expectation():
    with pytest.raises(ValueError, match="nothing before it"):
        text_bits.expected(model(vocab_size=256), ByteTokenizer(), "abc", 0, 5)
    with pytest.raises(ValueError, match="none of the 3"):
        text_bits.expected(model(vocab_size=256), ByteTokenizer(), "abc", 3, 5)


def test_a_long_context_is_read_in_windows():
    subject, ids = model(max_seq_len=32), torch.randint(0, 61, (40,)).tolist()
    short = surprisal(subject, ids, 8)
    assert torch.equal(short, surprisal(subject, ids, 8))
    assert torch.allclose(short[:8], surprisal(subject, ids)[:8], atol=1e-5)
    assert not torch.allclose(short, surprisal(subject, ids), atol=1e-3)


def test_peers_are_what_they_say():
    data = b"the cat and the dog and the cat and the dog" * 3
    every, counts, learned, deflate, xz = (peer.per_byte for peer in text_bits.peers(data))
    assert every == 8
    assert counts == pytest.approx(
        -sum(data.count(b) / len(data) * math.log2(data.count(b) / len(data)) for b in set(data))
    )
    assert counts < learned < 8
    assert deflate * len(data) / 8 == len(zlib.compress(data, 9)) - 6  # header and checksum
    assert xz * len(data) / 8 < len(lzma.compress(data)) - 30


def test_counting_as_one_reads_is_the_formula():
    # Bytes a, a, b: 1/2 / 128, then 3/2 / 129, then 1/2 / 130.
    product = (0.5 / 128) * (1.5 / 129) * (0.5 / 130)
    assert text_bits.adaptive(b"aab") * 3 == pytest.approx(-math.log2(product))


def test_a_model_of_bare_numbers_knows_no_text():
    import tfcore

    assert text_bits.knows_text(*tfcore.load("stories"))
    assert not text_bits.knows_text(*tfcore.load("induction"))


@pytest.mark.parametrize(
    ("text", "most", "kept"), [("abc", 3, "abc"), ("abc", 2, "ab"), ("aéé", 4, "aé"), ("😀", 3, "")]
)
def test_texts_are_cut_in_whole_characters(text, most, kept):
    assert text_bits.cut_bytes(text, most) == kept


def test_how_few_tokens_make_half_of_the_bits():
    found = text_bits.text_bits(*tfcore.load("stories"), "Lily had a red ball. One day a dragon ate it.")
    half, count, total = found.total / 2, 0, 0.0
    for bits in sorted(found.bits.tolist(), reverse=True):
        total, count = total + bits, count + 1
        if total >= half:
            break
    assert text_bits.concentration(found) == f"{count} of the {len(found.ids)} tokens make half of all bits."
