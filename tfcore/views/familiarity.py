"""Whether a small model can know a text: its bits per byte beside those of texts like those it was trained on."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.statistics import ratio
from tfcore.measures.text_loss import surprisal
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding

FAR = 1.9  # times those of held-out texts: of 240 pieces of held-out stories, 80 bytes each, 1 in 100 is above
LEAST = 60  # bytes; of shorter texts too many pieces of stories would be above


@dataclass(frozen=True, slots=True)
class Familiarity(Finding):
    """Bits that a model needs for a text.

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
    bits = json.loads(block[1]).get("bits_per_byte") if block else None
    return float(bits) if isinstance(bits, int | float) else None


def familiarity(model: Transformer, tokenizer: Tokenizer, name: str, ids: Sequence[int]) -> Familiarity | None:
    """Bits of a model on a text; None where its card has nothing to compare with, or the text is empty."""
    held_out = held_out_bits(name) if len(ids) > 1 and model.config.architecture == "decoder" else None
    if held_out is None:
        return None
    size = len(tokenizer.decode(list(ids[1:])).encode("utf-8", "surrogatepass"))
    return Familiarity(name, ratio(float(surprisal(model, ids).sum()) / math.log(2), size), held_out, size)
