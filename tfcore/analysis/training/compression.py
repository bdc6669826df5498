"""Bits per byte of a text: of models beside compressors and byte counts, which know no language."""

import lzma
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.analysis.training.text_bits import UNIFORM, TextBits

LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


@dataclass(frozen=True, slots=True)
class Coder:
    """What a text costs a coder.

    Args:
        name, how: the coder, and what is counted.
        per_byte: bits over the bytes of the text.
    """

    name: str
    how: str
    per_byte: float


def peers(text: str) -> list[Coder]:
    """Bits per byte of a uniform guess, of byte counts and of compressors; a model that has learned needs fewer.

    Compressors without header and checksum (deflate, LZMA2), which would weigh heavily on a short text.
    """
    data = text.encode("utf-8", "surrogatepass")
    n = max(1, len(data))
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = len(packer.compress(data) + packer.flush())
    return [
        Coder("every byte alike", "8 bits per byte: a uniform guess.", UNIFORM),
        Coder(
            "byte counts", "Entropy of how often each byte occurs here; its table of counts for free.", unigram(data)
        ),
        Coder("byte counts, learned", "The same, learned as it reads: it must pay for each new byte.", adaptive(data)),
        Coder("zlib", "Deflate, level 9, without header.", 8 * packed / n),
        Coder(
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
    """Bits per byte of an adaptive code, which counts as it reads: p(b) = (n_b + 1/2) / (n + 128).

    Krichevsky and Trofimov 1981.
    """
    seen: Counter[int] = Counter()
    bits = 0.0
    for n, byte in enumerate(data):
        bits -= math.log2((seen[byte] + 0.5) / (n + 128))
        seen[byte] += 1
    return bits / max(1, len(data))


@dataclass(frozen=True, slots=True)
class PerByte(Finding):
    """Models and other coders of one text, and who is left out.

    Args:
        coders: by their bits per byte, the fewest first.
        changed: models whose tokenizer changes the text, so that their bits are not of this text.
    """

    coders: tuple[Coder, ...]
    changed: tuple[str, ...]

    @property
    def least(self) -> str:
        """The best coder in a sentence, and who is left out."""
        best = self.coders[0]
        left_out = f" Not compared, as the tokenizer changes the text: {', '.join(self.changed)}."
        return f"Least: {best.name} with {best.per_byte:.3f} bits per byte.{left_out if self.changed else ''}"

    @property
    def sentence(self) -> str:
        return f"Bits per byte: {', '.join(f'{coder.name} {coder.per_byte:.3f}' for coder in self.coders)}."


def per_byte(models: Mapping[str, TextBits], others: Sequence[Coder]) -> PerByte:
    """Models and other coders in the order of their bits per byte."""
    coders = [
        Coder(name, f"{one.total:.1f} bits over {one.n_bytes:,} bytes", one.per_byte)
        for name, one in models.items()
        if one.whole
    ]
    changed = tuple(name for name, one in models.items() if not one.whole)
    return PerByte(tuple(sorted([*coders, *others], key=lambda coder: coder.per_byte)), changed)
