"""The highlights of a text, kept, and in words: the links, repetitions, surprises and the decision that are worth
seeing in it."""

from dataclasses import dataclass
from typing import Literal

from tfcore.measures.highlights.links import LEAST, Link
from tfcore.measures.highlights.of_text import Decision, Highlights, RepeatedSpan, Surprise, highlights
from tfcore.measures.highlights.usual import stored_usual
from tfcore.measures.one_text import IDS, last_tokens
from tfcore.measures.parameter_count import parameters
from tfcore.measures.token_text import shorten, visible
from tfcore.views.finding import Statement, state
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened

TOKENS = 128  # of a text
MOST_WEIGHTS = 500_000_000  # of a model, which a pass there and back takes seconds of
LETTERS = 16  # of a word
Kind = Literal["link", "surprise", "decision", "repeated"]


def _highlights(reading: Reading) -> Highlights | None:
    model, tokenizer = opened(reading.model)
    if model.config.architecture == "encoder-decoder" or reading.text.strip().startswith(IDS):
        return None
    if parameters(model.config).total > MOST_WEIGHTS:
        return None
    ids = last_tokens(model, tokenizer, reading.text, TOKENS, reading.bos).ids
    usual = stored_usual(reading.model) if isinstance(reading.model, str) else None
    return highlights(model, tokenizer, ids, usual) if ids else None


# None where the tokenizer makes no token of the text, where the text gives ids, and of an encoder-decoder or a model so
# large that visitors would wait for it.
highlights_of = kept(_highlights, entries=64)


@dataclass(frozen=True, slots=True)
class Chip:
    """A highlight in a few words, and what a page shows of it.

    Args:
        kind: of the highlight.
        words: as plain text.
        layer, head: to look at, where it is about a head.
        token: position to look at: the query, or the token after which a prediction stands.
        key: position of the token that is looked at.
    """

    kind: Kind
    words: str
    layer: int | None
    head: int | None
    token: int
    key: int | None = None


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
    words = (
        "No head of this model links words of this text above {least}; {share:percent} of the weight rests on the "
        "first token."
    )
    return state("no links", words, least=LEAST, share=found.on_first)


def named(word: str) -> str:
    """A word in quotation marks, with nothing hidden."""
    return f"“{shorten(visible(word.strip() or word), LETTERS)}”"


def _of_link(link: Link) -> Chip:
    words = f"{named(link.query_word)} → {named(link.key_word)}, head {link.layer}.{link.head}"
    return Chip("link", words, link.layer, link.head, link.query, link.key)


def _of_decision(decision: Decision) -> Chip:
    places = [one.place for one in decision.heads if isinstance(one.place, tuple)][:2]
    heads = " and ".join(f"{layer}.{head}" for layer, head in places)
    by = f" by head{'s' if len(places) > 1 else ''} {heads}" if places else ""
    layer, head = places[0] if places else (decision.layer, None)
    words = f"{named(decision.token)} is decided in layer {decision.layer}{by}"
    return Chip("decision", words, layer, head, decision.position)


def _of_surprise(surprise: Surprise) -> Chip:
    words = f"surprise: {named(surprise.token)}, {surprise.bits:.0f} bits"
    return Chip("surprise", words, None, None, surprise.position - 1, surprise.position)


def _of_repetition(span: RepeatedSpan) -> Chip:
    words = f"{named(span.text)} again"
    if not span.heads:
        return Chip("repeated", words, None, None, span.again, span.first)
    (layer, head, _), *_ = span.heads
    return Chip("repeated", f"{words}, head {layer}.{head}", layer, head, span.again, span.first + 1)
