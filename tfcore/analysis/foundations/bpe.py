"""Byte-pair encoding, one merge at a time: how a list of merges cuts a word, and how such a list is learned."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from tfcore.analysis.finding import Finding
from tfcore.measures.token_text import visible
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

Pair = tuple[bytes, bytes]
Pieces = tuple[bytes, ...]


class MergingTokenizer(Tokenizer, Protocol):
    """A byte-level BPE, whosever it is."""

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """Which two pieces each merge joins, in the order in which they were learned."""

    def words(self, text: str) -> list[bytes]:
        """What a text is cut into before any merge."""


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
class MergeResult(Finding):
    """What the merges make of a word.

    Args:
        word: the text.
        data_bytes: pieces before the first merge.
        merges: how many apply.
        pieces: after the last one.
    """

    word: str
    data_bytes: int
    merges: int
    pieces: tuple[bytes, ...]

    @property
    def sentence(self) -> str:
        return (
            f"'{visible(self.word)}' goes from {self.data_bytes} bytes to {len(self.pieces)} pieces in {self.merges} "
            f"merges: {' | '.join(map(visible, self.pieces))}."
        )


def merge_result(found: WordMerges) -> MergeResult:
    """From the first step to the last."""
    return MergeResult(found.word, len(found.steps[0].pieces), len(found.steps) - 1, found.steps[-1].pieces)


@dataclass(frozen=True, slots=True)
class PiecesByMerges(Finding):
    """How many pieces a word has with a part of the list of merges.

    Args:
        none, every: pieces with no merge known, and with all.
        known: length of the list.
    """

    none: int
    every: int
    known: int

    @property
    def sentence(self) -> str:
        return (
            "The same word with only the first merges of the list: "
            f"{self.none} pieces with none, {self.every} with all {self.known_text}."
        )

    @property
    def known_text(self) -> str:
        """The length of the list as it is written."""
        return f"{self.known:,}"


def pieces_by_merges(found: WordMerges) -> PiecesByMerges:
    """Pieces with no merge known, and with all of them."""
    return PiecesByMerges(len(found.steps[0].pieces), len(found.steps[-1].pieces), found.known)


@dataclass(frozen=True, slots=True)
class NextMerge(Finding):
    """What comes after one step of a word's merges.

    Args:
        pair, rank: of the next merge; None after the last one.
        same: whether the last step is the tokenizer's own encoding.
    """

    pair: Pair | None
    rank: int | None
    same: bool

    @property
    def sentence(self) -> str:
        if self.pair is not None:
            return f"Next: {' + '.join(map(visible, self.pair))}, rank {self.rank}."
        end = "the same as the tokenizer's own encoding" if self.same else "not what the tokenizer itself gives"
        return f"No pair is on the list any more. The result is {end}."


def next_merge(found: WordMerges, now: int) -> NextMerge:
    """The merge after step `now`."""
    following = found.steps[now + 1] if now + 1 < len(found.steps) else MergeStep(None, None, ())
    return NextMerge(following.pair, following.rank, found.same)


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
            joined[merge_pair(word, pair)] += times
        state = dict(joined)
        tokens = sum(len(word) * times for word, times in state.items())
        learned.append(Learned(pair, count, tokens, tuple(others)))
    return learned


def longest_tokens(merges: Sequence[Learned], count: int) -> list[bytes]:
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
    merges: tuple[Learned, ...]

    @property
    def tokens(self) -> list[int]:
        """Tokens of the text after 0, 1, 2 ... merges; its bytes are the first number."""
        return [sum(map(len, self.words)), *(one.tokens for one in self.merges)]


def learn_from(tokenizer: BPETokenizer, text: str, most: int) -> LearnedMerges:
    """Learn at most `most` merges from a text; of the tokenizer no more than its borders of words is used."""
    words = tokenizer.words(text)
    return LearnedMerges(tuple(words), tuple(learn(words, most)))


@dataclass(frozen=True, slots=True)
class LearnedLength(Finding):
    """The length of a text after some of its merges.

    Args:
        data_bytes: its length before any merge.
        now, tokens: merges done, and the tokens that are left.
        every, last: all merges that can be learned, and the tokens that are left after them.
    """

    data_bytes: int
    now: int
    tokens: int
    every: int
    last: int

    @property
    def sentence(self) -> str:
        return (
            f"After {self.now} merges the text of {self.data_bytes} bytes has {self.tokens} tokens, "
            f"{self.data_bytes / self.tokens:.2f} bytes in one; after {self.every}, {self.last}."
        )

    @property
    def tokens_text(self) -> str:
        """The tokens now as they are written."""
        return f"{self.tokens:,}"


def learned_length(found: LearnedMerges, now: int) -> LearnedLength:
    """The length after `now` merges, and after all."""
    tokens = found.tokens
    return LearnedLength(tokens[0], now, tokens[now], len(found.merges), tokens[-1])


@dataclass(frozen=True, slots=True)
class PairChosen(Finding):
    """The pair that a merge joins, and why that one.

    Args:
        last: whether no merge comes after it.
        pair, count: the pair, and how often it stands in the text.
        tied: whether another pair stands there as often.
    """

    last: bool
    pair: Pair
    count: int
    tied: bool

    @property
    def sentence(self) -> str:
        alone, tied = "more often than any other pair", "no more often than others, but it comes first in order"
        return (
            f"The {'last' if self.last else 'next'} merge joins {' + '.join(map(visible, self.pair))}, which stands "
            f"{self.count} times in the text, {tied if self.tied else alone}."
        )


def pair_chosen(found: LearnedMerges, now: int) -> PairChosen:
    """The merge after the first `now`, or the last one where there is none."""
    one = found.merges[min(now, len(found.merges) - 1)]
    tied = any(count == one.count for _, count in one.runners_up)
    return PairChosen(now >= len(found.merges), one.pair, one.count, tied)


@dataclass(frozen=True, slots=True)
class Shortening(Finding):
    """By how many tokens merges shorten a text.

    Args:
        first: the first merge.
        now: how many are done.
        last: what the last of these shortens it by.
        longest: the longest tokens that they made.
    """

    first: int
    now: int
    last: int
    longest: tuple[bytes, ...]

    @property
    def sentence(self) -> str:
        first = f"The first merge shortens the text by {self.first} tokens"
        if not self.now:
            return f"{first}."
        longest = ", ".join(f"“{visible(piece)}”" for piece in self.longest)
        return f"{first}, merge {self.now} by {self.last}. The longest tokens after {self.now}: {longest}."


def shortening(found: LearnedMerges, now: int) -> Shortening:
    """What the first merge and merge `now` save, and the four longest tokens so far."""
    tokens = found.tokens
    longest = tuple(longest_tokens(found.merges[:now], 4))
    return Shortening(tokens[0] - tokens[1], now, tokens[now - 1] - tokens[now] if now else 0, longest)
