"""Shared by the sections of the page on heads: where they begin in a text, and what is said of how it is read."""

from pages.ui import notices
from tfcore import shipped
from tfcore.measures.one_text import IDS, given_ids
from tfcore.views.foundations.heads.measure.attention import attention, first_look, model_parts
from tfcore.views.foundations.heads.measure.attention_maps import AttentionReading
from tfcore.views.sources import Reading, opened

CHARACTERS = 3_000  # more than 512 tokens of English
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)
TIRED = "The animal didn't cross the street because it was too tired."
LAYER = 3  # of the first view of the models that ship: “red” attends to the ball, by induction
HEAD = 0
TOKEN = 25
NOTHING = -1  # in place of another key, whose score is taken away


def size(reading: Reading) -> tuple[list[int], int]:
    """The layers that have attention, and how many heads each has."""
    layers, heads, *_ = attention(reading).maps.patterns.shape
    there = attention(reading).maps.heads.attends
    return [layer for layer in range(layers) if there[layer].all()], heads


def first_view(reading: Reading) -> tuple[int, int, int]:
    """Layer, head and query token to begin with, see first_look. Links to the models that ship leave out what their
    first view had in the first release, so it stays."""
    if reading.model in shipped():
        layers, _, queries, _ = attention(reading).maps.patterns.shape
        return min(LAYER, layers - 1), HEAD, min(TOKEN, queries - 1)
    return first_look(reading)


def about_ids(model_name: str, pasted: str) -> str:
    """How a text that gives token ids (one_text.given_ids) is read; empty for other texts."""
    if not pasted.strip().startswith(IDS):
        return ""
    model, tokenizer = opened(model_name)
    if model.config.architecture == "encoder-decoder":
        return f"“{IDS}” is for decoders and encoders; this model reads a sentence, and these numbers as words."
    if given_ids(model, tokenizer, pasted) is None:
        below = min(model.config.vocab_size, tokenizer.vocab_size)
        return f"Read as words: after “{IDS}” belong whole numbers below {below:,}, each after one space."
    return "The text gives its tokens as ids of this model's vocabulary."


def tell_dropped(reading: Reading, read: AttentionReading, name: str = "text") -> None:
    """Say how much of a text is used, where that is not all: its end, but the beginning of one that is translated."""
    used, is_translated = len(read.maps.ids), len(model_parts(reading.model)) > 1
    notices.tokens(used + read.dropped, used, name, "first" if is_translated else "last")
