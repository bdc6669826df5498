"""Byte-pair encoding, one merge at a time: how a list of merges cuts a word, and how such a list is learned."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

Pair = tuple[bytes, bytes]
Pieces = tuple[bytes, ...]


class MergingTokenizer(Tokenizer, Protocol):
    """A byte-level BPE, whosever it is."""

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The two pieces that each merge joins, in the order in which they were learned."""

    def words(self, text: str) -> list[bytes]:
        """The pieces into which a text is cut before any merge."""


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
        """The pieces of all words, in order."""
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
        state = tuple(merge_pair(word, pair) for word in state)
        steps.append(MergeStep(ranks[pair], pair, state))
    return steps


def merge_pair(pieces: Pieces, pair: Pair) -> Pieces:
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
class WordMerges:
    """The merges of a word by a tokenizer.

    Args:
        word: the text.
        steps: from single bytes on; see `replay`.
        known: length of the tokenizer's list of merges.
        same: whether the last step is the tokenizer's own encoding.
    """

    word: str
    steps: tuple[MergeStep, ...]
    known: int
    same: bool


def word_merges(tokenizer: MergingTokenizer, word: str) -> WordMerges:
    """Replay the merges of a tokenizer on a word."""
    steps = replay(tokenizer.words(word), {pair: rank for rank, pair in enumerate(tokenizer.merges)})
    own = tuple(tokenizer.token_bytes(i) for i in tokenizer.encode(word))
    return WordMerges(word, tuple(steps), len(tokenizer.merges), steps[-1].pieces == own)


@dataclass(frozen=True, slots=True)
class LearnedMerge:
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


def learn(words: Sequence[bytes], merges: int, runners_up: int = 5) -> list[LearnedMerge]:
    """Learn merges from a text: count all pairs of neighbours, join the most frequent one, count again.

    Of equally frequent pairs the one that sorts first is taken. It stops early when no pair stands there twice.

    Source: arXiv:1508.07909, algorithm 1.
    """
    state = {tuple(bytes([byte]) for byte in word): count for word, count in Counter(words).items()}
    learned: list[LearnedMerge] = []
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
            joined[merge_pair(word, pair)] += times
        state = dict(joined)
        tokens = sum(len(word) * times for word, times in state.items())
        learned.append(LearnedMerge(pair, count, tokens, tuple(others)))
    return learned


def longest_tokens(merges: Sequence[LearnedMerge], count: int) -> list[bytes]:
    """The longest tokens that merges made, at most `count` of them, longest first; equally long ones as learned."""
    made = dict.fromkeys(b"".join(one.pair) for one in merges)
    return sorted(made, key=len, reverse=True)[:count]


@dataclass(frozen=True, slots=True)
class LearnedMerges:
    """Merges learned from a text.

    Args:
        words: the text as the words in which pairs were counted.
        merges: in the order in which they were learned.
    """

    words: tuple[bytes, ...]
    merges: tuple[LearnedMerge, ...]

    @property
    def tokens(self) -> list[int]:
        """Tokens of the text after 0, 1, 2 ... merges; its bytes are the first number."""
        return [sum(map(len, self.words)), *(one.tokens for one in self.merges)]

    def pieces(self, now: int) -> Pieces:
        """The text in pieces after the first `now` merges."""
        return replay(self.words, {one.pair: rank for rank, one in enumerate(self.merges[:now])})[-1].pieces


def learn_from(tokenizer: BPETokenizer, text: str, most: int) -> LearnedMerges:
    """Learn at most `most` merges from a text; of the tokenizer no more than its borders of words is used."""
    words = tokenizer.words(text)
    return LearnedMerges(tuple(words), tuple(learn(words, most)))
