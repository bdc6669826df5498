"""A text cut into the pieces that its tokens stand for."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from tfcore.measures.token_text import character_parts, may_have_parts
from tfcore.tokenizers.tokenizer import Tokenizer, unmarked


@dataclass(frozen=True, slots=True)
class TextPieces:
    """A text as characters, bytes and tokens, and which belongs to which.

    Args:
        text: the text itself.
        data: its UTF-8 bytes.
        ids: of its tokens.
        tokens: the bytes of each token.
        part: whether a token is only a part of a character (byte fallback).
        names: of the tokens, where they are not written as their bytes are (WordPiece: ##ness); of parts of a character
            as CharacterPart.
        token_of_byte: which token holds each byte; -1 for those that no token holds, as WordPiece leaves spaces out.
        first_byte: where the bytes of each character begin.
    """

    text: str
    data: bytes
    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]
    names: tuple[str, ...]
    part: Bool[ndarray, " token"]
    token_of_byte: Int[ndarray, " byte"]
    first_byte: Int[ndarray, " character"]

    @property
    def per_token(self) -> float:
        """Characters per token."""
        return len(self.text) / len(self.ids) if self.ids else 0.0

    @property
    def token_of_character(self) -> Int[ndarray, " character"]:
        """The token that holds the first byte of each character; -1 for none."""
        return self.token_of_byte[self.first_byte]

    @property
    def split(self) -> Bool[ndarray, " character"]:
        """Characters that are spread over several tokens, or over parts of them."""
        owner = self.token_of_character
        return (owner >= 0) & self.part[owner] if len(self.part) else np.zeros(len(owner), dtype=bool)


@runtime_checkable
class Aligned(Protocol):
    """A tokenizer that says which characters of a text each token stands for."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """For each id, the first of its characters and the one after the last; equal for none."""
        ...


def cut_text(text: str, tokenizer: Tokenizer) -> TextPieces:
    """Cut a text into characters, UTF-8 bytes and tokens, and line the three up: by the bytes of the tokens where these
    are the text, else by what the tokenizer says of its characters."""
    ids, plain = tokenizer.encode(text), unmarked(text)
    characters = [character.encode("utf-8", "surrogatepass") for character in plain]
    data = b"".join(characters)
    tokens = [tokenizer.token_bytes(i) for i in ids]
    part = np.array([not is_text(token) for token in tokens], dtype=bool)
    ends = np.cumsum([0, *(len(c) for c in characters)], dtype=np.int64)
    inside, owner = list(range(len(ids))), np.full(len(data), -1)
    if b"".join(tokens) != data and isinstance(tokenizer, Aligned):
        spans = tokenizer.offsets(text)
        inside = [i for i, (first, last) in enumerate(spans[: len(ids)]) if first < last]
        for i in reversed(inside):  # a character of several tokens belongs to the first
            owner[ends[spans[i][0]] : ends[spans[i][1]]] = i
    if b"".join(tokens[i] for i in inside) == data:
        owner = np.repeat(np.array(inside, dtype=np.int64), [len(tokens[i]) for i in inside])
    names = tokenizer.tokens(ids)
    names = character_parts(names, tokens) if may_have_parts(names) else names
    return TextPieces(plain, data, tuple(ids), tuple(tokens), tuple(names), part, owner, ends[:-1])


def is_text(token: bytes) -> bool:
    """Whether bytes are whole characters."""
    try:
        token.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
