"""The page on heads: the text that all its sections look at."""

from dataclasses import dataclass
from typing import Any

from pages.ui import cache
from pages.ui.program import made
from tfcore.analysis.foundations.attention_maps import AttentionReading, Part, parts, read_attention
from tfcore.analysis.foundations.heads import induction_scores

DEFAULT_MODEL = "stories"
CHARACTERS = 2_000
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)
PARTS: dict[Part, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}

inducing = cache.of_model(max_entries=4)(induction_scores)


@cache.data(max_entries=8)
def read(model_name: str, pasted: str, part: Part | None = None) -> AttentionReading | None:
    """Attention on a text; the induction scores are measured once for a model, not for each text."""
    return read_attention(*cache.model(model_name), pasted, part, inducing(model_name))


@dataclass(frozen=True, slots=True)
class Choice:
    """What is looked at: a text as one part of a model reads it."""

    reading: AttentionReading
    model_name: str
    pasted: str
    part: Part | None

    @property
    def made(self) -> Any:
        """How a program makes the reading."""
        return made(read_attention, self.model_name, self.pasted, self.part, made(induction_scores, self.model_name))


def model_parts(model_name: str) -> tuple[Part, ...]:
    """Where this model has attention."""
    return parts(cache.model(model_name)[0].config)
