"""Texts that a vocabulary has tokens for: of a model that was trained on numbers, letters or names, few are."""

from collections.abc import Iterable

from tfcore.tokenizers.tokenizer import NamedTokenizer, Tokenizer

LISTED = 8  # tokens that a sentence about a vocabulary names
SAMPLED = 12  # tokens of a sample
TRIED = 4_096  # ids among which those of a sample are looked for


def is_read(tokenizer: Tokenizer, text: str) -> bool:
    """Whether a model can be given a text: one whose tokens have names is given all of it, any other at least a token
    that is not put around every text."""
    ids = tokenizer.encode(text)
    if isinstance(tokenizer, NamedTokenizer):
        return bool(ids) and left_out(tokenizer, text) == 0
    return len(ids) > len(tokenizer.encode(""))


def left_out(tokenizer: Tokenizer, text: str) -> int:
    """How many characters of a text, spaces and line breaks aside, belong to no token; 0 for tokenizers of any text."""
    if not isinstance(tokenizer, NamedTokenizer):
        return 0
    return _signs(text) - _signs(tokenizer.decode(tokenizer.encode(text)))


def _signs(text: str) -> int:
    return sum(not character.isspace() for character in text)


def listed(tokenizer: Tokenizer) -> str:
    """The first tokens of a vocabulary, and its last one, for a sentence: "0, 1, 2, …, ="."""
    ids = range(tokenizer.vocab_size)
    if len(ids) <= LISTED:
        return ", ".join(tokenizer.tokens(list(ids)))
    return ", ".join([*tokenizer.tokens(list(ids[: LISTED - 1])), "…", *tokenizer.tokens([ids[-1]])])


def sample(tokenizer: Tokenizer, count: int = SAMPLED, backwards: bool = False) -> str:
    """A text of a vocabulary of which nothing else is known: its first tokens that can be typed, in their order or
    backwards; empty where none can."""
    pieces = tokenizer.tokens(list(range(min(tokenizer.vocab_size, TRIED))))
    chosen: list[str] = []
    for token, piece in enumerate(pieces):
        if piece.strip() and piece not in tokenizer.special_tokens and token in tokenizer.encode(piece):
            chosen.append(piece)
        if len(chosen) == count:
            break
    return joined(tokenizer, reversed(chosen) if backwards else chosen)


def joined(tokenizer: Tokenizer, pieces: Iterable[str]) -> str:
    """Tokens as one text, with spaces between them where they would be read as others without."""
    known = list(pieces)
    together = "".join(known)
    return together if tokenizer.tokens(tokenizer.encode(together)) == known else " ".join(known)
