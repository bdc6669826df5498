"""The page on heads: the text that all its sections look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jaxtyping import Float
from numpy import ndarray

from pages.ui import cache, notices
from pages.ui.program import made
from pages.ui.reading import first_tokens, kinds_of
from tfcore import shipped
from tfcore.analysis.foundations.attention_maps import AttentionReading, pool, read_attention, some_heads, without_sink
from tfcore.analysis.foundations.head_ranking import Look, striking_head, strongest_look
from tfcore.measures.heads.kinds import HeadScores, Place
from tfcore.measures.heads.part_texts import Part, longest_text, parts
from tfcore.measures.one_text import IDS, given_ids

DEFAULT_MODEL = "stories"
CHARACTERS = 3_000  # more than 512 tokens of English
COPIED = 1_000_000  # weights of a reading that every run may have a copy of: 4 MB
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)
TIRED = "The animal didn't cross the street because it was too tired."
LAYER = 3  # of the first view of the models that ship: “red” attends to the ball, by induction
HEAD = 0
TOKEN = 25
STRONG = 0.5  # of a query's weight: an induction head with less has nothing to look at in this text
PARTS: dict[Part, str] = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}


def about_ids(model_name: str, pasted: str) -> str:
    """How a text that gives token ids (one_text.given_ids) is read; empty for other texts."""
    if not pasted.strip().startswith(IDS):
        return ""
    model, tokenizer = cache.model(model_name)
    if model.config.architecture == "encoder-decoder":
        return f"“{IDS}” is for decoders and encoders; this model reads a sentence, and these numbers as words."
    if given_ids(model, tokenizer, pasted) is None:
        below = min(model.config.vocab_size, tokenizer.vocab_size)
        return f"Read as words: after “{IDS}” belong whole numbers below {below:,}, each after one space."
    return "The text gives its tokens as ids of this model's vocabulary."


def read(
    model_name: str, pasted: str, part: Part | None = None, bos: bool | None = None, hide_sink: bool = False
) -> AttentionReading | None:
    """Attention on a text. Maps of a long text in a large model (longest_text) are kept once for all visitors."""
    config = cache.model(model_name)[0].config
    most = longest_text(config)
    tokens = min(most, first_tokens(model_name, pasted, most, bos).total)
    large = tokens**2 * config.n_heads * max(config.encoder_layers, config.decoder_layers) > COPIED
    return (_read_large if large else _read)(model_name, pasted, part, bos, hide_sink)


def tell_dropped(reading: AttentionReading, name: str = "text") -> None:
    """Say how much of a text is used, where that is not all."""
    kept = len(reading.found.ids)
    notices.tokens(kept + reading.dropped, kept, name)


def _read_now(
    model_name: str, pasted: str, part: Part | None, bos: bool | None, hide_sink: bool
) -> AttentionReading | None:
    if not hide_sink:
        return read_attention(*cache.model(model_name), pasted, part, bos=bos)
    seen = read(model_name, pasted, part, bos)
    return None if seen is None else without_sink(seen)


@cache.data(max_entries=16)
def _read(
    model_name: str, pasted: str, part: Part | None, bos: bool | None, hide_sink: bool
) -> AttentionReading | None:
    return _read_now(model_name, pasted, part, bos, hide_sink)


@cache.shared(max_entries=2)
def _read_large(
    model_name: str, pasted: str, part: Part | None, bos: bool | None, hide_sink: bool
) -> AttentionReading | None:
    found = _read_now(model_name, pasted, part, bos, hide_sink)
    if found is not None:
        found.found.patterns.setflags(write=False)
    return found


@cache.data(max_entries=16)
def thumbnails(
    model_name: str, pasted: str, part: Part | None, bos: bool | None, hide_sink: bool, side: int
) -> Float[ndarray, "layer head row column"]:
    """All maps of a long text, pooled to `side` cells."""
    found = read(model_name, pasted, part, bos, hide_sink)
    assert found is not None
    return pool(found.found.patterns, side)


@cache.data(max_entries=64)
def look_of_text(model_name: str, pasted: str, part: Part | None, bos: bool | None, hide_sink: bool) -> Look | None:
    """The strongest look of any head, found once for a text."""
    found = read(model_name, pasted, part, bos, hide_sink)
    assert found is not None
    return strongest_look(found.found.patterns, found.queries, found.keys, found.sink)


@dataclass(frozen=True)
class Choice:
    """What is looked at: a text as one part of a model reads it.

    Args:
        bos, hide_sink: see read_attention.
        log: colours by the logarithm of the weight.
        tries: the container of the examples.
        more: the container of More settings; None where a section has none.
    """

    reading: AttentionReading
    model_name: str
    pasted: str
    part: Part | None
    bos: bool | None
    hide_sink: bool
    log: bool
    tries: Any
    more: Any

    @property
    def made(self) -> Any:
        """How a program makes the reading."""
        return made(read_attention, self.model_name, self.pasted, self.part, bos=self.bos, hide_sink=self.hide_sink)

    @property
    def tokens(self) -> int:
        """Along the longer side of the maps."""
        return max(len(self.reading.queries), len(self.reading.keys))

    def tiles(self, places: Sequence[Place], side: int) -> Float[ndarray, "place row column"]:
        """The maps of some heads, of at most `side` cells."""
        maps = self.reading.found.patterns
        if self.tokens > side:
            maps = thumbnails(self.model_name, self.pasted, self.part, self.bos, self.hide_sink, side)
        return some_heads(maps, places)

    @cached_property
    def kinds(self) -> HeadScores:
        """The kinds of the heads: of the model, or where the standard texts say nothing to it, on this text."""
        return kinds_of(self.model_name, self.part) or self.reading.found.heads

    @property
    def kinds_on(self) -> str:
        """The texts that these kinds rest on, in words."""
        return "the standard texts" if kinds_of(self.model_name, self.part) else "this text"


def first_view(choice: Choice) -> tuple[int, int, int]:
    """Layer, head and query token to begin with: the model's strongest induction head, say, where this text gives it a
    word to look at; else the head with the strongest look of all, from one word at another.

    Links to the models that ship leave out what their first view had in the first release, so it stays.
    """
    reading = choice.reading
    patterns = reading.found.patterns
    if choice.model_name in shipped():
        return min(LAYER, len(patterns) - 1), HEAD, min(TOKEN, patterns.shape[2] - 1)
    place = striking_head(choice.kinds)
    own = strongest_look(patterns[place][None, None], reading.queries, reading.keys, reading.sink)
    if own is not None and own.weight >= STRONG:
        return *place, own.query
    every = look_of_text(choice.model_name, choice.pasted, choice.part, choice.bos, choice.hide_sink)
    return (*place, patterns.shape[2] - 1) if every is None else (every.layer, every.head, every.query)


def model_parts(model_name: str) -> tuple[Part, ...]:
    """Where this model has attention."""
    return parts(cache.model(model_name)[0].config)
