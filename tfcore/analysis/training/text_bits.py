"""A text in bits: what each token costs a model, and what the text costs those who know no language."""

import lzma
import math
import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.one_text import one_text
from tfcore.analysis.training.information import surprisal
from tfcore.analysis.training.likeliest import Likeliest, likeliest
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

LN2 = math.log(2)
SENTENCE = "The little girl went to the park with her mother, and there she saw a big dog."
BLIND = 8.0  # bits a byte of whoever knows nothing at all
WINDOW = 1_024  # tokens read at once at most, whatever the context
LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


@dataclass(frozen=True, slots=True)
class Framed:
    """A text as a model reads it.

    Args:
        before: ids that say that a text begins: of the tokenizer, or the separator of our own; often none.
        ids: of the text itself, without those before and after it.
        whole: decoding the ids gives the very text.
    """

    before: tuple[int, ...]
    ids: tuple[int, ...]
    whole: bool


def framed(tokenizer: Tokenizer, text: str) -> Framed:
    """Take the tokens that are the text apart from those that a tokenizer puts around it."""
    around, ids = tokenizer.encode(""), tokenizer.encode(text)
    start = next((i for i, pair in enumerate(zip(around, ids, strict=False)) if pair[0] != pair[1]), len(around))
    end = len(around) - start
    before, inside = ids[:start], ids[start : len(ids) - end]
    separator = getattr(tokenizer, "separator_id", None)
    if not before and separator is not None:
        before = [separator]
    return Framed(tuple(before), tuple(inside), tokenizer.decode(inside) == text)


@dataclass(frozen=True, slots=True)
class TextBits:
    """What each token of a text costs a model.

    Args:
        ids: of the text.
        tokens: the same as pieces of text.
        bits: -log2 p of each token, given all before it.
        sizes: bytes of each token.
        n_bytes: of the text, in UTF-8; the sum of the sizes, unless the tokenizer changes the text.
        start: the sign before the first token, or "" where there is none: the first token then costs log2 of the
            vocabulary, as if every one of its ids were equally likely.
        whole: the tokens give back the very text.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    bits: Float[ndarray, " token"]
    sizes: Int[ndarray, " token"]
    n_bytes: int
    start: str
    whole: bool

    @property
    def total(self) -> float:
        """Bits of the whole text."""
        return float(self.bits.sum())

    @property
    def per_token(self) -> float:
        """Mean surprisal: the cross-entropy of the text under the model."""
        return self.total / max(1, len(self.bits))

    @property
    def per_byte(self) -> float:
        """The only one of these numbers that models with different vocabularies can be compared by."""
        return self.total / max(1, self.n_bytes)


def text_bits(model: Transformer, tokenizer: Tokenizer, text: str) -> TextBits:
    """Surprisal of every token of a text in one pass (in windows that overlap by half, where it is long)."""
    read = framed(tokenizer, text)
    nats = surprisal(model, [*read.before, *read.ids], WINDOW)[max(0, len(read.before) - 1) :]
    bits = nats.double().cpu().numpy() / LN2
    if not read.before and read.ids:
        bits = np.concatenate(([math.log2(model.config.vocab_size)], bits))
    return TextBits(
        read.ids,
        tuple(tokenizer.tokens(list(read.ids))),
        bits,
        np.array([len(tokenizer.token_bytes(i)) for i in read.ids], dtype=np.int64),
        len(text.encode("utf-8", "surrogatepass")),
        tokenizer.tokens(read.before[-1:])[0] if read.before else "",
        read.whole,
    )


@torch.no_grad()
def expected(model: Transformer, tokenizer: Tokenizer, text: str, at: int, count: int) -> tuple[Likeliest, int]:
    """What a model expected in the place of token `at`, the most likely first, and the rank of what came (1: best).

    Read in the last tokens before it, half of the context or more, as `text_bits` does.

    Raises:
        ValueError: there is no such token, or nothing before it.
    """
    read = framed(tokenizer, text)
    ids = [*read.before, *read.ids]
    place = at + len(read.before)
    if not 0 < place < len(ids):
        raise ValueError(f"token {at} has nothing before it, or is none of the {len(read.ids)} tokens")
    start = window_start(place, min(model.config.max_seq_len, WINDOW))
    logits = model(one_text(model, ids[start:place])).logits[0, -1]
    return likeliest(logits, count), int((logits > logits[ids[place]]).sum()) + 1


def window_start(place: int, context: int) -> int:
    """Where the window begins in which `surprisal` predicts the token at `place`: they begin every half context."""
    step = max(1, context // 2)
    return max(0, -(-(place - context) // step)) * step


def knows_text(model: Transformer, tokenizer: Tokenizer) -> bool:
    """Whether a model does better on a plain English sentence than who expects every byte alike."""
    return text_bits(model, tokenizer, SENTENCE).per_byte < BLIND


@dataclass(frozen=True, slots=True)
class Peer:
    """What a text costs somebody who knows no language.

    Args:
        name, how: who it is, and what is counted.
        per_byte: bits over the bytes of the text.
    """

    name: str
    how: str
    per_byte: float


def peers(data: bytes) -> list[Peer]:
    """The same bytes by counting and by compressing; a model must do better to have learned anything.

    Compressors without header and checksum (deflate, LZMA2), which would weigh heavily on a short text.
    """
    n = max(1, len(data))
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = len(packer.compress(data) + packer.flush())
    return [
        Peer("every byte alike", "8 bits per byte: a uniform guess.", BLIND),
        Peer("byte counts", "Entropy of how often each byte occurs here; its table of counts for free.", unigram(data)),
        Peer("byte counts, learned", "The same, learned as it reads: it must pay for each new byte.", adaptive(data)),
        Peer("zlib", "Deflate, level 9, without header.", 8 * packed / n),
        Peer(
            "lzma",
            "LZMA2, its strongest setting, without header.",
            8 * len(lzma.compress(data, lzma.FORMAT_RAW, filters=LZMA)) / n,
        ),
    ]


def unigram(data: bytes) -> float:
    """Entropy in bits of the bytes of a text as they are distributed in it: -sum n_b / n log2 (n_b / n)."""
    n = len(data)
    return -sum(count / n * math.log2(count / n) for count in Counter(data).values()) + 0.0


def adaptive(data: bytes) -> float:
    """Bits a byte of a code that starts from nothing and counts as it reads: p(b) = (n_b + 1/2) / (n + 128).

    Krichevsky and Trofimov 1981.
    """
    seen: Counter[int] = Counter()
    bits = 0.0
    for n, byte in enumerate(data):
        bits -= math.log2((seen[byte] + 0.5) / (n + 128))
        seen[byte] += 1
    return bits / max(1, len(data))


def cut_bytes(text: str, most: int) -> str:
    """The beginning of a text that takes at most so many bytes, in whole characters."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return text
    while data[most] & 0xC0 == 0x80:  # inside of a character
        most -= 1
    return data[:most].decode("utf-8", "surrogatepass")


def concentration(found: TextBits) -> str:
    """How few tokens make half of the bits of a text, in a sentence."""
    order = np.sort(found.bits)[::-1].cumsum()
    half = int(np.searchsorted(order, found.total / 2)) + 1
    return f"{half} of the {len(found.bits)} tokens make half of all bits."
