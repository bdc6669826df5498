"""Findings on tokens: a text counted three ways, merges replayed on a word, and merges learned from a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.measures.token_pieces import TextPieces
from tfcore.measures.token_text import shorten, visible
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.foundations.tokens.measure.bpe import LearnedMerges, MergeStep, Pair, WordMerges, longest_tokens
from tfcore.views.foundations.tokens.measure.text_pieces import Density

LONGEST_READ = 80  # characters of a text in a sentence
UNKNOWN = ("[UNK]", "<unk>")  # names of the token for what a vocabulary does not have

# ---- a text ----


@dataclass(frozen=True, slots=True)
class TextSizes(Finding):
    """A text counted three ways.

    Args:
        characters, data_bytes, tokens: how many of each.
        parts: tokens that are only a part of a character.
        vocabulary: ids that the tokenizer knows.
    """

    characters: int
    data_bytes: int
    tokens: int
    parts: int
    vocabulary: int

    @property
    def sentence(self) -> str:
        whole = "Every token here is whole characters."
        some = f"{self.parts} of {self.tokens} tokens are only part of a character (orange)."
        return f"{some if self.parts else whole} The vocabulary has {self.vocabulary:,} ids."

    @property
    def titles(self) -> tuple[str, str, str]:
        """One line each for characters, bytes and tokens."""
        per_token = self.characters / self.tokens if self.tokens else 0.0
        return (
            f"{self.characters:,} characters",
            f"{self.data_bytes:,} bytes",
            f"{self.tokens:,} tokens with their ids, {per_token:.2f} characters in one",
        )


def text_sizes(pieces: TextPieces, vocabulary: int) -> TextSizes:
    """How many characters, bytes, tokens and parts of characters a text has."""
    return TextSizes(len(pieces.text), len(pieces.data), len(pieces.ids), int(pieces.part.sum()), vocabulary)


@dataclass(frozen=True, slots=True)
class ChangedText(Finding):
    """Changes that a tokenizer makes to a text besides cutting it.

    Args:
        around: tokens that it puts around every text.
        unknown: tokens that stand for what the vocabulary does not have.
        read: the text as the ids give it back; None where that is the text itself.
    """

    around: tuple[str, ...]
    unknown: int
    read: str | None

    @property
    def sentence(self) -> str:
        said = []
        if self.around:
            said.append(f"It puts {' and '.join(map(visible, self.around))} around every text.")
        if self.unknown:
            said.append(f"{self.unknown} of the tokens stand for what the vocabulary does not have, which is lost.")
        if self.read is not None:
            said.append(f"From its ids the text comes back as “{shorten(self.read, LONGEST_READ)}”.")
        return " ".join(said) or "From its ids the text comes back exactly."


def changed_text(pieces: TextPieces, tokenizer: Tokenizer) -> ChangedText:
    """Compare a text with what its ids say."""
    around = tuple(tokenizer.tokens(tokenizer.encode("")))
    unknown = sum(name in UNKNOWN and name not in around for name in pieces.names)
    read = tokenizer.decode(pieces.ids)
    return ChangedText(around, unknown, None if read == pieces.text else read)


def tokens_of_texts(model: str, densities: Sequence[Density], languages: Mapping[str, str]) -> Statement:
    """How many tokens a tokenizer makes of texts with the same content.

    Args:
        model: whose tokenizer it is.
        languages: the word for each to the name of its text.
    """
    by_name = {one.name: one.tokens for one in densities}
    tokens = {language: by_name[name] for language, name in languages.items()}
    *others, last = (f"the {language} one into {count}" for language, count in tokens.items())
    return state(
        "tokens of texts",
        "Of the texts in the figure, {model} cuts {others} and {last} tokens.",
        model=model,
        others=", ".join(others),
        last=last,
        tokens=tokens,
    )


def several_tokens(tokens: Sequence[str]) -> Statement:
    """Entries that were typed as one token and are several, in order."""
    return state(
        "several tokens",
        "That is {n} tokens ({shown}); the first one is shown.",
        n=len(tokens),
        shown=" ".join(map(visible, tokens)),
    )


def characters_per_token(densities: Sequence[Density]) -> Statement:
    """Characters per token of the first of several texts, beside the extremes of the others."""
    own, *others = densities
    best, worst = (pick(others, key=lambda one: one.per_token) for pick in (max, min))
    return state(
        "characters per token",
        "Characters per token: {per_token:.2f} in {name}, {best_per_token:.2f} for {best}, {worst_per_token:.2f} for "
        "{worst}.",
        name=own.name,
        per_token=own.per_token,
        best=best.name,
        best_per_token=best.per_token,
        worst=worst.name,
        worst_per_token=worst.per_token,
    )


# ---- merges of a word ----


def merge_result(merges: WordMerges) -> Statement:
    """The result of the merges of a word."""
    pieces = merges.steps[-1].pieces
    return state(
        "merges",
        "'{word}' goes from {data_bytes} bytes to {n} pieces in {merges} merges: {pieces}.",
        word=visible(merges.word),
        data_bytes=len(merges.steps[0].pieces),
        n=len(pieces),
        merges=len(merges.steps) - 1,
        pieces=" | ".join(map(visible, pieces)),
    )


def pieces_by_merges(merges: WordMerges) -> Statement:
    """How many pieces a word has with no merge known, and with all."""
    return state(
        "pieces",
        "The same word with only the first merges of the list: {none} pieces with none, {every} with all "
        "{known:whole}.",
        none=len(merges.steps[0].pieces),
        every=len(merges.steps[-1].pieces),
        known=merges.known,
    )


@dataclass(frozen=True, slots=True)
class NextMerge(Finding):
    """The merge after one step of a word's merges.

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


def next_merge(merges: WordMerges, now: int) -> NextMerge:
    """The merge after step `now`."""
    following = merges.steps[now + 1] if now + 1 < len(merges.steps) else MergeStep(None, None, ())
    return NextMerge(following.pair, following.rank, merges.same)


# ---- merges learned from a text ----


def learned_length(learned: LearnedMerges, now: int) -> Statement:
    """The length of a text before any merge, after `now` merges and after all that can be learned."""
    tokens = learned.tokens
    return state(
        "length",
        "After {now} merges the text of {data_bytes} bytes has {tokens} tokens, {in_one:.2f} bytes in one; after "
        "{every}, {last}.",
        now=now,
        data_bytes=tokens[0],
        tokens=tokens[now],
        in_one=tokens[0] / tokens[now],
        every=len(learned.merges),
        last=tokens[-1],
    )


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


def pair_chosen(learned: LearnedMerges, now: int) -> PairChosen:
    """The merge after the first `now`, or the last one where there is none."""
    one = learned.merges[min(now, len(learned.merges) - 1)]
    tied = any(count == one.count for _, count in one.runners_up)
    return PairChosen(now >= len(learned.merges), one.pair, one.count, tied)


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


def shortening(learned: LearnedMerges, now: int) -> Shortening:
    """The tokens that the first merge and merge `now` save, and the four longest tokens so far."""
    tokens = learned.tokens
    longest = tuple(longest_tokens(learned.merges[:now], 4))
    return Shortening(tokens[0] - tokens[1], now, tokens[now - 1] - tokens[now] if now else 0, longest)
