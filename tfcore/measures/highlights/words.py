"""The words of a text, each with its tokens, and how rare they are."""

import codecs
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.tokenizers.tokenizer import Tokenizer

SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # written without spaces between words
COMMON = 0.4  # of the bits of the rarest token: a word with fewer, such as "the", says nothing as a key
LISTED = 4096  # ids among which the first word of a vocabulary is looked for
CLOSING = {")": "(", "]": "[", "}": "{", "”": "“„", "»": "«"}
QUOTES = "\"'"  # open and close with the same sign
OPENING = "".join(CLOSING.values()) + QUOTES


@dataclass(frozen=True, slots=True)
class Word:
    """A word, a number, or signs between words, as in a text.

    Args:
        first, stop: its first token, and the one after its last.
        raw: as it is in the text, with spaces before it; empty for a token that is put around every text.
    """

    first: int
    stop: int
    raw: str

    @property
    def text(self) -> str:
        """Without the spaces around it."""
        return self.raw.strip()

    @property
    def last(self) -> int:
        """The token at which the word is complete."""
        return self.stop - 1

    @property
    def is_real(self) -> bool:
        """Whether it has a letter or a digit."""
        return any(sign.isalnum() for sign in self.text)


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[Word, ...]:
    """The words of a text: tokens that continue a word are joined, and those that are parts of one character. Of
    scripts without spaces each token is a word."""
    spans = _joined(_characters(tokenizer, ids))
    special = set(tokenizer.encode(""))
    return tuple(Word(first, stop, "" if set(ids[first:stop]) <= special else text) for first, stop, text in spans)


def _characters(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """Tokens, joined where a character is spread over several: (first, stop, text). A WordPiece keeps the mark (##)
    that it continues a word."""
    pieces = tokenizer.tokens(list(ids))
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    found: list[tuple[int, int, str]] = []
    first, text = 0, ""
    for i, (token, piece) in enumerate(zip(ids, pieces, strict=True)):
        data = tokenizer.token_bytes(token)
        text += decoder.decode(data)
        if decoder.getstate()[0] and i + 1 < len(ids):
            continue
        found.append((first, i + 1, piece if piece == f"##{text}" else text))
        decoder.reset()
        first, text = i + 1, ""
    return found


def _joined(characters: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    pieces = any(text.startswith("##") and text.strip("#") for _, _, text in characters)
    spaced = any(" " in text for _, _, text in characters)
    found: list[tuple[int, int, str]] = []
    for first, stop, text in characters:
        marked = text.startswith("##") and bool(text.strip("#"))
        continues = marked or (spaced and not pieces and found and _letter(found[-1][2][-1:]) and _letter(text[:1]))
        if found and continues:
            start, _, before = found[-1]
            found[-1] = (start, stop, before + text.removeprefix("##" if marked else ""))
        else:
            found.append((first, stop, text))
    return found


def _letter(sign: str) -> bool:
    """Whether a sign continues a word: a letter, a digit or a mark on one, in a script that puts spaces between
    words."""
    if not sign or not (sign.isalnum() or unicodedata.category(sign)[0] == "M"):
        return False
    return not unicodedata.name(sign, "").startswith(SCRIPTS)


def rarity(tokenizer: Tokenizer, ids: Sequence[int], words: Sequence[Word]) -> Float[ndarray, " word"]:
    """How rare each word is, 0 to 1, by the model's own vocabulary: its tokens were learned from counts, the most
    common first. The bits of a token are log2 of its place in that order (Zipf's law), those of a word their sum;
    bits from COMMON of the rarest token's to all of them are 0 to 1.

    Beside the bits that a model's mean prediction over standard texts gives to a word it needs no table for each
    model, and finds more of the marked pairs.
    """
    start = _first_word(tokenizer)
    most = math.log2(max(4, tokenizer.vocab_size - start))
    bits = np.array([math.log2(max(0, token - start) + 2) for token in ids])
    whole = np.array([bits[word.first : word.stop].sum() for word in words]) / most
    return np.clip((whole - COMMON) / (1 - COMMON), 0, 1)


def _first_word(tokenizer: Tokenizer) -> int:
    """The first id that stands for letters: before it are special tokens, bytes and single characters."""
    pieces = tokenizer.tokens(list(range(min(LISTED, tokenizer.vocab_size))))
    letters = (piece.strip().removeprefix("##") for piece in pieces)
    return next((i for i, piece in enumerate(letters) if len(piece) > 1 and piece.isalpha()), 0)


def partners(words: Sequence[Word]) -> dict[int, int]:
    """The word with each closing bracket or quotation mark -> the word with the one that it closes."""
    signs = [(sign, i) for i, word in enumerate(words) for sign in word.raw]
    found: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    for at, (sign, word) in enumerate(signs):
        if sign == "'" and 0 < at < len(signs) - 1 and signs[at - 1][0].isalnum() and signs[at + 1][0].isalnum():
            continue  # an apostrophe
        openers = sign if sign in QUOTES else CLOSING.get(sign, "")
        place = next((i for i in reversed(range(len(opened))) if opened[i][0] in openers), None)
        if place is not None:
            found[word] = opened[place][1]
            del opened[place:]
        elif sign in OPENING:
            opened.append((sign, word))
    return found
