"""Bits per byte of a text: of models beside compressors."""

import lzma
import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.measures.statistics import ratio
from tfcore.measures.text_loss import TextBits
from tfcore.views.training.information.measure.text_bits import UNIFORM

LZMA = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}
SMALLEST_WINDOW = 4096  # bytes that LZMA looks back over, at least


@dataclass(frozen=True, slots=True)
class Coder:
    """The cost of a text by a coder.

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
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = len(packer.compress(data) + packer.flush())
    window = max(SMALLEST_WINDOW, len(data))  # no shorter result by more, and its own 64 MiB take 700 MB of memory
    strongest = lzma.compress(data, lzma.FORMAT_RAW, filters=[{**LZMA, "dict_size": window}])
    return [
        Coder("every byte alike", "8 bits per byte: a uniform guess.", UNIFORM),
        Coder(
            "byte counts", "Entropy of how often each byte occurs here; its table of counts for free.", unigram(data)
        ),
        Coder("byte counts, learned", "The same, learned as it reads: it must pay for each new byte.", adaptive(data)),
        Coder("zlib", "Deflate, level 9, without header.", ratio(8 * packed, len(data))),
        Coder("lzma", "LZMA2, its strongest setting, without header.", ratio(8 * len(strongest), len(data))),
    ]


def unigram(data: bytes) -> float:
    """Entropy in bits of the bytes of a text as they are distributed in it: -sum n_b / n log2 (n_b / n)."""
    n = len(data)
    return 0.0 - sum(count / n * math.log2(count / n) for count in Counter(data).values())


def adaptive(data: bytes) -> float:
    """Bits per byte of an adaptive code, which counts as it reads: p(b) = (n_b + 1/2) / (n + 128).

    Krichevsky and Trofimov 1981.
    """
    seen: Counter[int] = Counter()
    bits = 0.0
    for n, byte in enumerate(data):
        bits -= math.log2((seen[byte] + 0.5) / (n + 128))
        seen[byte] += 1
    return ratio(bits, len(data))


@dataclass(frozen=True, slots=True)
class PerByte:
    """Models and other coders of one text, and who is left out.

    Args:
        coders: by their bits per byte, the fewest first.
        changed: models whose tokenizer changes the text, so that their bits are not of this text.
    """

    coders: tuple[Coder, ...]
    changed: tuple[str, ...]


def per_byte(models: Mapping[str, TextBits], others: Sequence[Coder]) -> PerByte:
    """Models and other coders in the order of their bits per byte."""
    coders = [
        Coder(name, f"{one.total:.1f} bits over {one.n_bytes:,} bytes", one.per_byte)
        for name, one in models.items()
        if one.whole
    ]
    changed = tuple(name for name, one in models.items() if not one.whole)
    return PerByte(tuple(sorted([*coders, *others], key=lambda coder: coder.per_byte)), changed)
