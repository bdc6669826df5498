"""One text cut three ways: into characters, into bytes, into the tokens of a byte-level BPE."""

from collections.abc import Mapping
from dataclasses import dataclass

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
