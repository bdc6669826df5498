"""Links between the words of a text: where heads look, more than they do on any text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.highlights.usual import UsualWeights
from tfcore.measures.highlights.words import Word, partners, rarity
from tfcore.tokenizers.tokenizer import Tokenizer

LEAST = 0.2  # weight of a link, without the first token
BOOST = 1.6  # of pronouns, verbs that agree with a noun, and the last word: readers ask what these look at
PLAIN = 0.4  # of any other word that is as common as can be, as a query
FROM_HEAD, TO_WORD = 2, 2  # links that one head may have, and that may go to one word; a word has one
TRIED = 4_000  # the largest scores, among which links are chosen
ASKED = (  # of English; words of other languages are ranked by their rarity alone
    "he she it they him her them his hers its their theirs i me my we us our you your who which that himself herself "
    "itself themselves is are was were has have do does"
)


@dataclass(frozen=True, slots=True)
class Link:
    """A head that looks from one word at another.

    Args:
        layer, head: which.
        query, key: tokens: the last of the word that looks, and that of the other with the most weight.
        query_word, key_word: the words.
        weight: on all tokens of the other word, of what is not on the first token.
        usual: the same head's mean weight at that distance on general texts; 0 where it is not known.
        score: by which links are ranked.
    """

    layer: int
    head: int
    query: int
    key: int
    query_word: str
    key_word: str
    weight: float
    usual: float
    score: float


def links(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    patterns: Float[ndarray, "layer head query key"],
    hidden: Bool[ndarray, " key"],
    words: Sequence[Word],
    usual: UsualWeights | None,
    most: int = 3,
) -> tuple[Link, ...]:
    """The strongest links, the first worth seeing first: one of a word, two of a head, two to a word.

    score = (weight - usual weight at that distance) . how rare the other word is . how much is asked of this one. A
    closing bracket or quotation mark counts where it looks at the one that it closes.

    Args:
        patterns: attention weights without the hidden keys, see tfcore.measures.heads.sink.without_keys.
        hidden: keys taken for sinks.
        usual: of the model; None ranks without.
    """
    interest = interests(tokenizer, ids, hidden, words)
    if not interest.any():
        return ()
    members = np.zeros((len(ids), len(words)), dtype=np.float32)
    for i, word in enumerate(words):
        members[word.first : word.stop, i] = 1
    lasts = [word.last for word in words]
    weights, means = np.empty((2, *patterns.shape[:2], len(words), len(words)), dtype=np.float32)
    for layer, one in enumerate(patterns):  # one after another: all maps may be large
        weights[layer] = one[:, lasts] @ members
        means[layer] = 0 if usual is None else usual.at(layer, len(ids))[:, lasts] @ members
    scores = np.where(weights >= LEAST, np.maximum(weights - means, 0) * interest, 0)
    found = []
    for layer, head, query, key in _chosen(scores, most):
        asked, other = words[query], words[key]
        best = other.first + int(patterns[layer, head, asked.last, other.first : other.stop].argmax())
        at = layer, head, query, key
        numbers = float(weights[at]), float(means[at]), float(scores[at])
        found.append(Link(layer, head, asked.last, best, asked.text, other.text, *numbers))
    return tuple(found)


def interests(
    tokenizer: Tokenizer, ids: Sequence[int], hidden: Bool[ndarray, " key"], words: Sequence[Word]
) -> Float[ndarray, "asked other"]:
    """How much a link between two words would say; 0 for hidden ones, neighbours, and a word and itself."""
    names, rare = [word.text.lower() for word in words], rarity(tokenizer, ids, words)
    real = np.array([word.is_real for word in words], dtype=bool)
    asked = frozenset(ASKED.split())
    asking = np.array([name in asked for name in names], dtype=bool)
    query = np.where(asking, BOOST, PLAIN + (1 - PLAIN) * rare)
    query[-1] = BOOST
    found = np.outer(np.where(real, query, 0), np.where(real & ~asking, rare, 0))
    for closing, opening in partners(words).items():
        found[closing, opening] = 1
    place = np.arange(len(words))
    sunk = np.array([bool(hidden[word.first : word.stop].any()) or not word.text for word in words], dtype=bool)
    found[(np.abs(place[:, None] - place) <= 1) | sunk[:, None] | sunk] = 0
    return found


def _chosen(scores: Float[ndarray, "layer head asked other"], most: int) -> list[tuple[int, int, int, int]]:
    """The places of the largest scores, with few of a word and a head."""
    flat = scores.ravel()
    tried = np.argpartition(flat, -TRIED)[-TRIED:] if flat.size > TRIED else np.arange(flat.size)
    found: list[tuple[int, int, int, int]] = []
    queries, heads, keys = set[int](), Counter[tuple[int, int]](), Counter[int]()
    for at in tried[np.argsort(-flat[tried], kind="stable")]:
        layer, head, query, key = (int(i) for i in np.unravel_index(at, scores.shape))
        if len(found) == most or flat[at] <= 0:
            break
        if query in queries or heads[layer, head] == FROM_HEAD or keys[key] == TO_WORD:
            continue
        queries.add(query)
        heads[layer, head] += 1
        keys[key] += 1
        found.append((layer, head, query, key))
    return found
