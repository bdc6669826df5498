"""One text cut three ways: into characters, into bytes, into the tokens of a tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass

from tfcore.measures.token_pieces import cut_text, is_text
from tfcore.measures.token_text import label
from tfcore.tokenizers.tokenizer import Tokenizer


def piece_label(piece: bytes) -> str:
    """A piece for a figure; what is only part of a character as its bytes in hexadecimal."""
    return label(piece if is_text(piece) else piece.hex(" ").upper())


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
    each = []
    for name, text in texts.items():
        pieces = cut_text(text, tokenizer)
        each.append(Density(name, len(pieces.text), len(pieces.data), len(pieces.ids), int(pieces.part.sum())))
    return each
