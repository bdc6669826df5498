"""The highlights of a text, kept, and in words: the links, repetitions, surprises and the decision that are worth
seeing in it. Those of examples are stored beside a real model, which takes a second for them:

    python -m tools.highlights
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures.heads.kinds import Place
from tfcore.measures.highlights.links import LEAST, Link
from tfcore.measures.highlights.of_text import Decision, Highlights, RepeatedSpan, Surprise, highlights
from tfcore.measures.highlights.usual import stored_usual
from tfcore.measures.one_text import IDS, last_tokens
from tfcore.measures.parameter_count import parameters
from tfcore.measures.token_text import CharacterPart, shorten, visible
from tfcore.views.finding import Statement, state
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

FILE = "highlights.json"  # in the folder of a model below tfcore/pretrained
TOKENS = 128  # of a text
MOST_WEIGHTS = 500_000_000  # of a model, which a pass there and back takes seconds of
LETTERS = 16  # of a word
DECIDING = 2  # heads that a decision names
Kind = Literal["link", "surprise", "decision", "repeated"]


def highlights_of(reading: Reading, tokens: int = TOKENS) -> Highlights | None:
    """The highlights of a text; None where the tokenizer makes no token of it, where it gives ids, and of an
    encoder-decoder or a model so large that visitors would wait for it.

    Args:
        tokens: how many of the last are read, at most; no more than TOKENS.
    """
    model, tokenizer = opened(reading.model)
    if model.config.architecture == "encoder-decoder" or reading.text.strip().startswith(IDS):
        return None
    if parameters(model.config).total > MOST_WEIGHTS:
        return None
    read = last_tokens(model, tokenizer, reading.text, min(tokens, TOKENS), reading.bos).ids
    return _of_tokens(Reading(reading.model, reading.text, bos=reading.bos), len(read)) if read else None


def _highlights(reading: Reading, tokens: int) -> Highlights:
    """The highlights of the last tokens of a text, so many."""
    model, tokenizer = opened(reading.model)
    usual = stored_usual(reading.model) if isinstance(reading.model, str) else None
    return highlights(model, tokenizer, last_tokens(model, tokenizer, reading.text, tokens, reading.bos).ids, usual)


_of_tokens = kept(_highlights, entries=64)


@dataclass(frozen=True, slots=True)
class Chip:
    """A highlight in a few words, and what a page shows of it.

    Args:
        kind: of the highlight.
        words: as plain text.
        token: position to look at: the query, or the token after which a prediction stands.
        heads: those it is about, the most important first; empty where it is about none.
        key: position of the token that is looked at.
    """

    kind: Kind
    words: str
    token: int
    heads: tuple[Place, ...] = ()
    key: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The highlights of a text as chips.

    Args:
        tokens: how many of the last tokens were read.
        chips: the first worth seeing first.
        nothing: a sentence that says so where no head links two words, else empty.
    """

    tokens: int
    chips: tuple[Chip, ...]
    nothing: str = ""


def found_in(reading: Reading, tokens: int = TOKENS) -> Found | None:
    """The highlights of a text as chips, stored or computed; arguments and None as of highlights_of."""
    stored = stored_for(reading.model).get(reading.text) if isinstance(reading.model, str) else None
    if stored is not None and reading.bos is None and stored.tokens <= tokens:
        return stored
    return computed(reading, tokens)


def computed(reading: Reading, tokens: int = TOKENS) -> Found | None:
    """The same, whatever is stored."""
    highlights = highlights_of(reading, tokens)
    if highlights is None:
        return None
    return Found(highlights.tokens, chips(highlights), "" if highlights.links else str(no_links(highlights)))


@lru_cache(maxsize=8)
def stored_for(name: str) -> dict[str, Found]:
    """Text -> what was found in it with this model, of the texts that are stored."""
    path = PRETRAINED / name / FILE
    if path not in PRETRAINED.glob(f"*/{FILE}"):  # a name may be a folder elsewhere
        return {}
    return {text: _read(found) for text, found in json.loads(path.read_text("utf-8")).items()}


def _read(found: dict[str, Any]) -> Found:
    chips = (Chip(**chip) for chip in found["chips"])
    lists = tuple(replace(chip, heads=tuple((layer, head) for layer, head in chip.heads)) for chip in chips)
    return Found(found["tokens"], lists, found["nothing"])


def store(folder: Path, found: Mapping[str, Found]) -> None:
    """Write what was found in texts into the folder of a model."""
    rows = {text: asdict(one) for text, one in found.items()}
    (folder / FILE).write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")


def chips(found: Highlights) -> tuple[Chip, ...]:
    """The highlights in the order in which they are worth seeing: the first link, the decision, the largest surprise,
    the longest repetition, the other links."""
    links = [_of_link(link) for link in found.links]
    single = [
        *([_of_decision(found.decision)] if found.decision else []),
        *map(_of_surprise, found.surprises[:1]),
        *map(_of_repetition, found.repeated[:1]),
    ]
    return (*links[:1], *single, *links[1:])


def no_links(found: Highlights) -> Statement:
    """The sentence on a text in which nothing was found."""
    if math.isnan(found.on_first):
        return state("no links", "No layer of this model has attention, whose heads could link words.")
    words = (
        "No head of this model links words of this text above {least}; {share:percent} of the weight rests on the "
        "first token."
    )
    return state("no links", words, least=LEAST, share=found.on_first)


def named(word: str) -> str:
    """A word in quotation marks, with nothing hidden."""
    plain = word if isinstance(word, CharacterPart) else word.strip() or word
    return f"“{shorten(visible(plain), LETTERS)}”"


def _of_link(link: Link) -> Chip:
    words = f"{named(link.query_word)} → {named(link.key_word)}, head {link.layer}.{link.head}"
    return Chip("link", words, link.query, ((link.layer, link.head),), link.key)


def _of_decision(decision: Decision) -> Chip:
    places = tuple(one.place for one in decision.heads if isinstance(one.place, tuple))[:DECIDING]
    heads = " and ".join(f"{layer}.{head}" for layer, head in places)
    on = f", depends most on head{'s' if len(places) > 1 else ''} {heads}" if places else ""
    words = f"{named(decision.token)} leads from layer {decision.layer} on{on}"
    return Chip("decision", words, decision.position, places)


def _of_surprise(surprise: Surprise) -> Chip:
    words = f"surprise: {named(surprise.token)}, {surprise.bits:.0f} bits"
    return Chip("surprise", words, surprise.position - 1, key=surprise.position)


def _of_repetition(span: RepeatedSpan) -> Chip:
    words = f"{named(span.text)} again"
    if not span.heads:
        return Chip("repeated", words, span.again, key=span.first)
    (layer, head, _), *_ = span.heads
    return Chip("repeated", f"{words}, head {layer}.{head}", span.again, ((layer, head),), span.first + 1)
