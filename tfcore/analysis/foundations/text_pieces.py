"""One text cut three ways: into characters, into bytes, into the tokens of a tokenizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.measures.token_pieces import TextPieces, cut_text, is_text
from tfcore.measures.token_text import label, shorten, visible
from tfcore.tokenizers.tokenizer import Tokenizer

LONGEST_READ = 80  # characters of a text in a sentence


def piece_label(piece: bytes) -> str:
    """A piece for a figure; what is only part of a character as its bytes in hexadecimal."""
    return label(piece if is_text(piece) else piece.hex(" ").upper())


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


def text_sizes(found: TextPieces, vocabulary: int) -> TextSizes:
    """How many characters, bytes, tokens and parts of characters a text has."""
    return TextSizes(len(found.text), len(found.data), len(found.ids), int(found.part.sum()), vocabulary)


UNKNOWN = ("[UNK]", "<unk>")  # names of the token for what a vocabulary does not have


@dataclass(frozen=True, slots=True)
class ChangedText(Finding):
    """What a tokenizer does to a text besides cutting it.

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


def changed_text(found: TextPieces, tokenizer: Tokenizer) -> ChangedText:
    """Compare a text with what its ids say."""
    around = tuple(tokenizer.tokens(tokenizer.encode("")))
    unknown = sum(name in UNKNOWN and name not in around for name in found.names)
    read = tokenizer.decode(found.ids)
    return ChangedText(around, unknown, None if read == found.text else read)


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


def densities(tokenizer: Tokenizer, texts: Mapping[str, str]) -> list[Density]:
    """Characters per token of several named texts."""
    found = []
    for name, text in texts.items():
        pieces = cut_text(text, tokenizer)
        found.append(Density(name, len(pieces.text), len(pieces.data), len(pieces.ids), int(pieces.part.sum())))
    return found


@dataclass(frozen=True, slots=True)
class TokensOfTexts(Finding):
    """How many tokens a tokenizer makes of texts with the same content.

    Args:
        model: whose tokenizer it is.
        tokens: language -> tokens.
    """

    model: str
    tokens: dict[str, int]

    @property
    def sentence(self) -> str:
        *others, last = (f"the {language} one into {count}" for language, count in self.tokens.items())
        return f"Of the texts in the figure, {self.model} cuts {', '.join(others)} and {last} tokens."


def tokens_of_texts(model: str, found: Sequence[Density], languages: Mapping[str, str]) -> TokensOfTexts:
    """The tokens of some of the texts; `languages` maps the word for each to the name of its text."""
    tokens = {one.name: one.tokens for one in found}
    return TokensOfTexts(model, {language: tokens[name] for language, name in languages.items()})


@dataclass(frozen=True, slots=True)
class SeveralTokens(Finding):
    """What was typed as one token and is several.

    Args:
        tokens: in order.
    """

    tokens: tuple[str, ...]

    @property
    def sentence(self) -> str:
        shown = " ".join(map(visible, self.tokens))
        return f"That is {len(self.tokens)} tokens ({shown}); the first one is shown."


@dataclass(frozen=True, slots=True)
class CharactersPerToken(Finding):
    """Characters per token of one text, beside the extremes of others.

    Args:
        name: of the text.
        per_token: its characters per token.
        best, best_per_token: of the others, the one with the most characters per token.
        worst, worst_per_token: the one with the fewest.
    """

    name: str
    per_token: float
    best: str
    best_per_token: float
    worst: str
    worst_per_token: float

    @property
    def sentence(self) -> str:
        return (
            f"Characters per token: {self.per_token:.2f} in {self.name}, {self.best_per_token:.2f} for {self.best}, "
            f"{self.worst_per_token:.2f} for {self.worst}."
        )


def characters_per_token(found: Sequence[Density]) -> CharactersPerToken:
    """The first of several texts, beside the extremes of the others."""
    own, *others = found
    best, worst = (pick(others, key=lambda one: one.per_token) for pick in (max, min))
    return CharactersPerToken(own.name, own.per_token, best.name, best.per_token, worst.name, worst.per_token)
