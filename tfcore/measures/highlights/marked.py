"""Texts with a pair of words marked that a reader looks for, and whether the pair is among the first links.

    python -m tfcore.measures.highlights.marked smollm2

prints, as JSON, in how many texts it is. The texts were written for this before any was tried: sixty plain ones, of
which every third was held out while the ranking was made, and twenty of other kinds, which were not looked at. A pair
is from the word in « » to one in ‹ ›.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.loading.checkpoints import load
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.sink import sink_tokens, without_keys
from tfcore.measures.highlights.links import Link, links
from tfcore.measures.highlights.usual import UsualWeights, stored_usual
from tfcore.measures.highlights.words import Word, words_of
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

TEXTS = Path(__file__).with_name("marked_texts.json")
PLAIN = ("pronouns", "names", "agreement", "quotes", "brackets", "lists")
EVERY = 3  # the last of so many plain texts is held out
FIRST = 3  # links among which the pair must be


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with a pair.

    Args:
        kind: what links the words.
        text: without the marks.
        query, keys: (first, stop) of their characters; one of several keys is enough.
        held_out: it was not looked at while the ranking was made.
    """

    kind: str
    text: str
    query: tuple[int, int]
    keys: tuple[tuple[int, int], ...]
    held_out: bool


def marked_texts() -> list[Marked]:
    """All of them, the plain ones first."""
    content = json.loads(TEXTS.read_text("utf-8"))
    found: list[Marked] = []
    for kind, texts in content.items():
        for text in texts:
            held_out = kind not in PLAIN or len(found) % EVERY == EVERY - 1
            (query,), keys = _spans(text, ("«", "»")), _spans(text, ("‹", "›"))
            found.append(Marked(kind, re.sub("[‹›«»]", "", text), query, tuple(keys), held_out))
    return found


def _spans(text: str, marks: tuple[str, str]) -> list[tuple[int, int]]:
    """Where the characters between two marks begin and end in the text without marks."""
    places, plain = [], 0
    for sign in text:
        if sign in "‹›«»":
            places += [plain] if sign in marks else []
        else:
            plain += 1
    return list(zip(places[::2], places[1::2], strict=True))


def first_links(model: Transformer, tokenizer: Tokenizer, text: str, usual: UsualWeights | None) -> tuple[Link, ...]:
    """The first links of a text, without what else is worth seeing in it."""
    ids = tokenizer.encode(text)
    hidden, patterns = _seen(model, tokenizer, ids)
    return links(tokenizer, ids, patterns, hidden, words_of(tokenizer, ids), usual, FIRST)


def bare_links(model: Transformer, tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """(query token, key token) of the largest weights between two words, the first token, a word itself and its
    neighbours left out: what the ranking is compared with."""
    ids = tokenizer.encode(text)
    words, (_, patterns) = words_of(tokenizer, ids), _seen(model, tokenizer, ids)
    of_token = np.array([i for i, word in enumerate(words) for _ in range(word.first, word.stop)])
    real = np.array([words[i].is_real for i in of_token])
    apart = np.abs(of_token[:, None] - of_token) > 1
    weights = np.where(apart & real[:, None] & real, patterns, 0)
    places = [np.unravel_index(i, weights.shape) for i in np.argsort(-weights, axis=None, kind="stable")[:FIRST]]
    return [(int(query), int(key)) for _, _, query, key in places]


def _seen(
    model: Transformer, tokenizer: Tokenizer, ids: Sequence[int]
) -> tuple[Bool[ndarray, " key"], Float[ndarray, "layer head query key"]]:
    """The keys of a text that are taken for sinks, and the attention weights without them."""
    hidden = sink_tokens(tokenizer, ids, around=model.config.architecture == "encoder")
    return hidden, without_keys(attention_maps(model, ids).patterns, hidden)


def is_found(marked: Marked, tokenizer: Tokenizer, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether the pair is among pairs of tokens (query, key)."""
    words = words_of(tokenizer, tokenizer.encode(marked.text))
    asked = _covered(words, marked.text, [marked.query])
    others = _covered(words, marked.text, list(marked.keys))
    return any(query in asked and key in others for query, key in pairs)


def _covered(words: Sequence[Word], text: str, spans: Sequence[tuple[int, int]]) -> set[int]:
    """The tokens of the words that have a character in one of the spans."""
    found, at = set[int](), 0
    for word in words:
        if not word.text:
            continue
        start = text.lower().find(word.text.lower(), at)
        if start < 0:
            continue
        at = start + len(word.text)
        if any(start < stop and first < at for first, stop in spans):
            found |= set(range(word.first, word.stop))
    return found


def measured(model: Transformer, tokenizer: Tokenizer, usual: UsualWeights | None) -> dict[str, dict[str, list[int]]]:
    """By ranking ("ranked", or "bare" weight) and group of texts: in how many the pair is found, and of how many."""
    found: dict[str, dict[str, list[int]]] = {"ranked": {}, "bare": {}}
    for one in marked_texts():
        ranked = [(link.query, link.key) for link in first_links(model, tokenizer, one.text, usual)]
        group = one.kind if one.kind not in PLAIN else "held out" if one.held_out else "tried"
        for ranking, pairs in (("ranked", ranked), ("bare", bare_links(model, tokenizer, one.text))):
            count = found[ranking].setdefault(group, [0, 0])
            count[0] += is_found(one, tokenizer, pairs)
            count[1] += 1
    return found


def main() -> None:
    """Print the figures of a model as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tfcore.measures.highlights.marked", description=__doc__)
    parser.add_argument("name", help="a model that ships or was fetched")
    name = parser.parse_args().name
    model, tokenizer = load(name, device="cpu")
    if tokenizer is None:
        parser.error(f"{name} has no tokenizer, so no text can be read")
    json.dump(measured(model, tokenizer, stored_usual(name)), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
