"""SentencePiece's file (tokenizer.model): its pieces and how it treats a text (arXiv:1808.06226). It is a message of
protobuf, https://protobuf.dev/programming-guides/encoding, of which a few fields are read here.

Errors are the ends of sentences that the file's name begins.
"""

import base64
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tfcore.loading import tokenizer_json as parts
from tfcore.loading.tokenizer_json import BYTE, CONTROL, NORMAL, SPACE, UNKNOWN, UNUSED, USER_DEFINED
from tfcore.tokenizers.worker import MOST_IDS

HIDDEN = "\U000f0002"  # of private use
_NONE = "is no SentencePiece model"
_VARINT, _EIGHT, _SIZED, _FOUR = 0, 1, 2, 5  # how the value of a field is written
_UNIGRAM, _BPE = 1, 2
_KINDS = {3: "WORD", 4: "CHAR"}
_MOST_VARINT = 10  # bytes


Token = tuple[str, float, int]  # text, score, and type as in tokenizer_json


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """A model of SentencePiece.

    Args:
        pieces: by id.
        unigram: whether a text is cut into its most probable pieces (arXiv:1804.10959), instead of by merges (BPE).
        byte_fallback: whether characters that no piece has become bytes.
        charsmap: which characters are replaced by which, in SentencePiece's form; empty: none.
        prefix: whether a text is given a space in front (add_dummy_prefix).
        trims: whether spaces at both ends and doubled ones are taken out (remove_extra_whitespaces).
    """

    pieces: list[Token]
    unigram: bool
    byte_fallback: bool
    charsmap: bytes
    prefix: bool
    trims: bool

    @property
    def replaced(self) -> list[dict[str, Any]]:
        """The step that replaces characters, where there are any to replace."""
        if not self.charsmap:
            return []
        return [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(self.charsmap).decode()}]

    def unnamed(self) -> "SentencePiece":
        """The model without tokens that no text is cut into: those for control, and the one for what is unknown, have
        names that no text can have."""
        hidden = (CONTROL, UNKNOWN)
        pieces = [(f"{HIDDEN}{text}" if kind in hidden else text, score, kind) for text, score, kind in self.pieces]
        return replace(self, pieces=pieces)

    def content(self, always: bool = False) -> dict[str, Any]:
        """The contents of a tokenizer.json: everything but tokens that are put around a text.

        Args:
            always: whether the part of a text behind a special token is given a space in front, too; where spaces are
                taken out it is.
        """
        tokens, scores, kinds = map(list, zip(*self.pieces, strict=True))
        parts.check_tokens(tokens)
        steps = list(self.replaced)
        if self.trims:
            steps += [parts.replace(r"\A +| +\z", "", "Regex"), parts.replace(" {2,}", " ", "Regex")]
        scheme = ("always" if always or self.trims else "first") if self.prefix else "never"
        cut = parts.metaspace(scheme, self.unigram)
        unknown = kinds.index(UNKNOWN) if UNKNOWN in kinds else None
        fallback = {"byte_fallback": self.byte_fallback}
        if self.unigram and unknown is None:
            raise ValueError("has no piece for unknown characters")
        if self.unigram:
            model = {"type": "Unigram", "unk_id": unknown, "vocab": list(zip(tokens, scores, strict=True)), **fallback}
        else:
            # user-defined ones may stand for spaces, which are no spaces any more where such are looked for
            merges = parts.merges_of_scores(tokens, scores, kinds, (NORMAL, USER_DEFINED))
            named = None if unknown is None else tokens[unknown]
            model = parts.bpe(parts.numbered(tokens), merges, unk_token=named, fuse_unk=True, **fallback)
        return {
            "added_tokens": parts.added(tokens, kinds),
            "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
            "pre_tokenizer": cut,
            "decoder": parts.from_pieces(self.prefix),
            "model": model,
        }


def sentence_piece(data: bytes) -> SentencePiece:
    """The model in a file.

    Raises:
        ValueError: it is damaged, or of a kind that cannot be read.
    """
    pieces: list[Token] = []
    trainer: dict[int, Any] = {}
    normalizer: dict[int, Any] = {}
    for field, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            if len(pieces) == MOST_IDS:
                raise ValueError(f"has more than {MOST_IDS:,} pieces, which is more than can be shown here")
            pieces.append(_piece(value))
        elif field in (2, 3) and isinstance(value, bytes):
            (trainer if field == 2 else normalizer).update(_fields(value))
    if not pieces:
        raise ValueError(_NONE)
    if (kind := _number(trainer, 3, _UNIGRAM)) not in (_UNIGRAM, _BPE):
        raise ValueError(f"is of SentencePiece's kind {_KINDS.get(kind, kind)}; UNIGRAM and BPE can be read")
    if _number(trainer, 24, 0):
        raise ValueError("writes spaces behind words (treat_whitespace_as_suffix), which cannot be read")
    if not _number(normalizer, 5, 1):
        raise ValueError(f"keeps spaces as they are (escape_whitespaces), and only {SPACE} can be read for them")
    charsmap = normalizer.get(2, b"")
    if not isinstance(charsmap, bytes):
        raise ValueError(_NONE)
    return SentencePiece(
        pieces,
        unigram=kind == _UNIGRAM,
        byte_fallback=bool(_number(trainer, 35, 0)),
        charsmap=charsmap,
        prefix=bool(_number(normalizer, 3, 1)),
        trims=bool(_number(normalizer, 4, 1)),
    )


def _piece(data: bytes) -> Token:
    """Text, score and type of a piece."""
    said = dict(_fields(data))
    text, score, kind = said.get(1, b""), said.get(2, b"\0\0\0\0"), said.get(3, NORMAL)
    if not isinstance(text, bytes) or not isinstance(score, bytes) or len(score) != 4 or not isinstance(kind, int):
        raise ValueError(_NONE)
    (number,) = struct.unpack("<f", score)
    if not math.isfinite(number):
        raise ValueError("has a piece whose score is no finite number")
    if kind == UNUSED or not NORMAL <= kind <= BYTE:
        raise ValueError("has pieces that are not in use, which cannot be left out here")
    try:
        return text.decode(), number, kind
    except UnicodeDecodeError as error:
        raise ValueError("has a piece that is no text") from error


def _number(said: dict[int, Any], field: int, default: int) -> int:
    value = said.get(field, default)
    if not isinstance(value, int):
        raise ValueError(_NONE)
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number, and the value as a number or as its bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == _SIZED:
            length, at = _varint(data, at)
        elif kind in (_FOUR, _EIGHT):
            length = 4 if kind == _FOUR else 8
        else:
            raise ValueError(_NONE)
        if length > end - at:
            raise ValueError(f"{_NONE}, or is cut short")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where the next one begins."""
    value = 0
    for i, byte in enumerate(data[at : at + _MOST_VARINT]):
        value |= (byte & 127) << 7 * i
        if byte < 128:
            return value, at + i + 1
    raise ValueError(f"{_NONE}, or is cut short")
