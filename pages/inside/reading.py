"""Shared by the pages of this chapter: a text as a model reads it, and its top predictions."""

from dataclasses import dataclass
from typing import Any

from pages.ui import cache, fragments, links, notices, page, text
from pages.ui.beside import replaced_word
from pages.ui.reading import choose_bos, last_tokens, say_nothing_read
from tfcore import shipped
from tfcore.config import ModelConfig
from tfcore.measures.answers import answers_of
from tfcore.measures.text_loss import Likeliest, every_next
from tfcore.views.sources import Reading

FEW = 4  # layers, as in the shipped models, on which these pages began with layer 3
GUESSES = 7  # top predictions offered to choose from, as many as at the end of the river
BOY = "There was a little boy. One day, Sam said that"  # of which the pages on stories say more


def begins_with_strongest(config: ModelConfig) -> bool:
    """Whether a page begins with the strongest head of a model: one of many layers, and not in links of a release in
    which every model began with layer 3."""
    return config.n_layers > FEW and not links.is_old()


def said_always(**first: str) -> dict[str, str] | None:
    """Values that a copied link states for controls that are where they began in such a release."""
    old = links.is_old() and links.asked("model") not in (None, *shipped())
    return first if old else None


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as these pages read it: its last tokens.

    Args:
        model: name of the model that reads it.
        pasted: the text.
        ids: of its last tokens.
        tokens: as pieces of text.
        total: how many there are in all.
        bos: as in last_tokens.
    """

    model: str
    pasted: str
    ids: list[int]
    tokens: list[str]
    total: int
    bos: bool | None = None

    @property
    def whole(self) -> Reading:
        """The whole text, as views take it."""
        return Reading(self.model, self.pasted, bos=self.bos)


def read(model: str, pasted: str, limit: int, bos: bool | None = None) -> ReadText:
    return ReadText(model, pasted, *last_tokens(model, pasted, limit, bos), bos)


def checked(
    model: str, pasted: str, limit: int, name: str = "text", bos: bool | None = None, key: str = "text"
) -> ReadText:
    """The text as it is used, with a word where it was cut; stops the page when it is empty. `key` is its box's."""
    reading = read(model, pasted, limit, bos)
    notices.tokens(reading.total, len(reading.ids), name)
    if not reading.ids:
        said = f"There is no {name} yet: type or paste some above, or pick an example."
        say_nothing_read(model, pasted, key, said)
        fragments.stop()
    return reading


def other_text(model: str, pasted: str, usual: str, limit: int) -> str:
    """The text to compare with at first: `usual`, or where that has another number of tokens, the same text with
    one word replaced."""
    mine, theirs = (last_tokens(model, one, limit).ids for one in (pasted, usual))
    if links.is_old() or (len(mine) == len(theirs) and mine != theirs):
        return usual
    return replaced_word(model, pasted, limit) or usual


def more_settings(model: str) -> tuple[Any, bool | None]:
    """The container of More settings, for those of a section; in it, with or without BOS, as in last_tokens."""
    more = page.more_settings()
    with more:
        return more, choose_bos(model)


@cache.data(max_entries=128)
def every_guess(model: str, pasted: str, limit: int, bos: bool | None) -> list[Likeliest]:
    """The most probable tokens after each position, so that a slider of positions runs the model once."""
    return every_next(cache.model(model)[0], read(model, pasted, limit, bos).ids, GUESSES)


def guesses(
    model: str, pasted: str, limit: int, position: int, bos: bool | None = None
) -> tuple[list[int], list[str], list[float]]:
    """The most probable tokens after a position, or the classes of the text, of a decoder up to there: ids, pieces,
    probabilities."""
    network, tokenizer = cache.model(model)
    config = network.config
    of_text = config.classes is not None and config.architecture == "encoder"  # at one place, whatever is looked at
    ranked = every_guess(model, pasted, limit, bos)[config.read_at if of_text else position]
    ids = ranked.ids.tolist()
    return ids, answers_of(network, tokenizer).tokens(ids), ranked.probabilities.tolist()


@cache.data(max_entries=256)
def piece(model: str, token: int) -> str:
    """One token that a model predicts as text, or the name of a class."""
    (name,) = answers_of(*cache.model(model)).tokens([token])
    return name


def shown(token: str) -> str:
    """One token inside a sentence in Markdown."""
    return f"“{text.escape(text.visible(token))}”"
