"""Byte-pair encoding: a text cut into tokens and bytes, merges replayed one by one, and merges learned from a text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from tfcore.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class TextPieces:
    """A text as characters, bytes and tokens, and which belongs to which.

    Args:
        text: the text itself.
        data: its UTF-8 bytes.
        ids: of its tokens.
        tokens: the bytes of each token.
        part: tokens that are only a part of a character: where the vocabulary falls back on bytes.
        token_of_byte: which token holds each byte.
        first_byte: where the bytes of each character begin.
    """

    text: str
    data: bytes
    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]
    part: Bool[ndarray, " token"]
    token_of_byte: Int[ndarray, " byte"]
    first_byte: Int[ndarray, " character"]

    @property
    def per_token(self) -> float:
        """Characters per token: how much text a place in the sequence holds."""
        return len(self.text) / len(self.ids) if self.ids else 0.0

    @property
    def token_of_character(self) -> Int[ndarray, " character"]:
        """The token that holds the first byte of each character."""
        return self.token_of_byte[self.first_byte]

    @property
    def split(self) -> Bool[ndarray, " character"]:
        """Characters that are spread over several tokens, or over parts of them."""
        return self.part[self.token_of_character]


def cut(text: str, tokenizer: Tokenizer) -> TextPieces:
    """Cut a text into characters, UTF-8 bytes and tokens, and line the three up."""
    characters = [character.encode("utf-8", "surrogatepass") for character in text]
    ids = tokenizer.encode(text)
    tokens = [tokenizer.token_bytes(i) for i in ids]
    part = np.array([not is_text(token) for token in tokens], dtype=bool)
    owner = np.repeat(np.arange(len(tokens)), [len(token) for token in tokens])
    ends = np.cumsum([len(c) for c in characters], dtype=np.int64)
    first = np.concatenate((np.zeros(1, dtype=np.int64), ends))[:-1]
    return TextPieces(text, b"".join(characters), tuple(ids), tuple(tokens), part, owner, first)


def is_text(token: bytes) -> bool:
    """Whether bytes are whole characters."""
    try:
        token.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Density:
    """How much of a kind of text fits into a token.

    Args:
        name: of the kind.
        characters: in the sample.
        data_bytes: its UTF-8 bytes.
        tokens: its tokens.
        parts: of these, those that are only a part of a character.
    """

    name: str
    characters: int
    data_bytes: int
    tokens: int
    parts: int

    @property
    def per_token(self) -> float:
        """Characters per token."""
        return self.characters / self.tokens if self.tokens else 0.0


def densities(texts: Mapping[str, str], tokenizer: Tokenizer) -> list[Density]:
    """Characters per token of several named texts."""
    found = []
    for name, text in texts.items():
        pieces = cut(text, tokenizer)
        found.append(Density(name, len(text), len(pieces.data), len(pieces.ids), int(pieces.part.sum())))
    return found


Pair = tuple[bytes, bytes]
Pieces = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class MergeStep:
    """The pieces of a text after one merge.

    Args:
        rank: place of the merge in the learned list, 0 for the first one learned; None before any merge.
        pair: the two pieces that were joined; None before any merge.
        words: the pieces of each word now.
    """

    rank: int | None
    pair: Pair | None
    words: tuple[Pieces, ...]

    @property
    def pieces(self) -> Pieces:
        """Of all words, in order."""
        return tuple(piece for word in self.words for piece in word)


def replay(words: Sequence[bytes], ranks: Mapping[Pair, int]) -> list[MergeStep]:
    """Every step of byte-pair encoding: of all neighbours, the pair learned first is joined, wherever it stands.

    Args:
        words: a text cut into words; no merge reaches across their borders.
        ranks: pair -> place in the learned list.

    Returns:
        the single bytes, then the state after each merge, in rising order of rank.

    Source: arXiv:1508.07909, section 3.2; on bytes instead of characters as in GPT-2.
    """
    state: tuple[Pieces, ...] = tuple(tuple(bytes([byte]) for byte in word) for word in words)
    steps = [MergeStep(None, None, state)]
    while known := [pair for word in state for pair in pairwise(word) if pair in ranks]:
        pair = min(known, key=ranks.__getitem__)
        state = tuple(join(word, pair) for word in state)
        steps.append(MergeStep(ranks[pair], pair, state))
    return steps


def join(pieces: Pieces, pair: Pair) -> Pieces:
    """The pieces with every occurrence of the pair made one piece, from left to right."""
    joined: list[bytes] = []
    i = 0
    while i < len(pieces):
        if pieces[i : i + 2] == pair:
            joined.append(pair[0] + pair[1])
            i += 2
        else:
            joined.append(pieces[i])
            i += 1
    return tuple(joined)


@dataclass(frozen=True, slots=True)
class Learned:
    """One merge as it was learned from a text.

    Args:
        pair: the most frequent pair of neighbours at that moment.
        count: how often it stood there.
        tokens: how many pieces the text had after the merge.
        runners_up: the next most frequent pairs with their counts.
    """

    pair: Pair
    count: int
    tokens: int
    runners_up: tuple[tuple[Pair, int], ...]


def learn(words: Sequence[bytes], merges: int, runners_up: int = 5) -> list[Learned]:
    """Learn merges from a text: count all pairs of neighbours, join the most frequent one, count again.

    Of equally frequent pairs the one that sorts first is taken. It stops early when no pair stands there twice.

    Source: arXiv:1508.07909, algorithm 1.
    """
    state = {tuple(bytes([byte]) for byte in word): count for word, count in Counter(words).items()}
    learned: list[Learned] = []
    for _ in range(merges):
        counts: Counter[Pair] = Counter()
        for word, times in state.items():
            for pair in pairwise(word):
                counts[pair] += times
        best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: runners_up + 1]
        if not best or best[0][1] < 2:
            break
        (pair, count), *others = best
        joined: Counter[Pieces] = Counter()
        for word, times in state.items():
            joined[join(word, pair)] += times
        state = dict(joined)
        tokens = sum(len(word) * times for word, times in state.items())
        learned.append(Learned(pair, count, tokens, tuple(others)))
    return learned


def longest(merges: Sequence[Learned], count: int) -> list[bytes]:
    """The longest tokens that merges made, at most `count` of them, longest first; equally long ones as learned."""
    made = dict.fromkeys(b"".join(one.pair) for one in merges)
    return sorted(made, key=len, reverse=True)[:count]
