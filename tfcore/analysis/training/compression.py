"""Bits per byte of a text: of models beside compressors, and whether a small model can know the text."""

import json
import lzma
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.analysis.training.text_bits import UNIFORM
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.statistics import ratio
from tfcore.measures.text_loss import TextBits, surprisal
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

LZMA = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}
SMALLEST_WINDOW = 4096  # bytes that LZMA looks back over, at least


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


FAR = 1.9  # times those of held-out texts: of 240 pieces of held-out stories, 80 bytes each, 1 in 100 is above
LEAST = 60  # bytes; of shorter texts too many pieces of stories would be above


@dataclass(frozen=True, slots=True)
class Familiarity(Finding):
    """What a model needs for a text.

    Args:
        model: its name.
        bits: per byte of the text, without its first token.
        held_out: per byte of texts like those it was trained on, from its card.
        size: bytes of the text that were read.
    """

    model: str
    bits: float
    held_out: float
    size: int

    @property
    def is_strange(self) -> bool:
        """Whether the text is long enough to tell, and costs far more."""
        return self.size >= LEAST and self.bits > FAR * self.held_out

    @property
    def sentence(self) -> str:
        return (
            f"{self.model} needs {self.bits:.2f} bits per byte for this text; on held-out texts like those it was "
            f"trained on it needs {self.held_out:.2f}."
        )


def held_out_bits(name: str) -> float | None:
    """Bits per byte on the card of a model that ships; None where it has no such number."""
    try:
        text = (PRETRAINED / name / "CARD.md").read_text("utf-8")
    except OSError:
        return None
    block = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    found = json.loads(block[1]).get("bits_per_byte") if block else None
    return float(found) if isinstance(found, int | float) else None


def familiarity(model: Transformer, tokenizer: Tokenizer, name: str, ids: Sequence[int]) -> Familiarity | None:
    """Of the model of this name on a text; None where the card has nothing to compare with, or the text is empty."""
    held_out = held_out_bits(name) if len(ids) > 1 and model.config.architecture == "decoder" else None
    if held_out is None:
        return None
    size = len(tokenizer.decode(list(ids[1:])).encode("utf-8", "surrogatepass"))
    return Familiarity(name, ratio(float(surprisal(model, ids).sum()) / math.log(2), size), held_out, size)
