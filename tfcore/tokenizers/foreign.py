"""Tokenizers of published checkpoints - WordPiece, Unigram, BPE - read and run by the `tokenizers` library."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Encoding, models
from tokenizers import Tokenizer as HFTokenizer

from tfcore.tokenizers.declared import BLANK, FLAGS, Declared, add
from tfcore.tokenizers.tokenizer import (
    BPETokenizer,
    ByteLevelBPE,
    Tokenizer,
    byte_level_alphabet,
    own_kind,
    readable,
    reading,
    special_in,
    without_marks,
)

_SURROGATES = re.compile("[\ud800-\udfff]")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
NOTHING, MOST_ROWS = Declared(), 1 << 40
LOOKED_UP = "looked up"  # kind of a file of ours, as those of tfcore.tokenizers.tokenizer are
_CODE = re.compile(r">>.*?<<", re.DOTALL)  # the language that a text is to be translated into
_SPACE = "▁"  # how vocabularies made by SentencePiece write a space


class ForeignTokenizer:
    """A tokenizer.json as its authors meant it: encode puts the tokens around a text that the model was trained with
    ([CLS] and [SEP], <s>, </s>). Special tokens in a text are ordinary text, as everywhere here (BPETokenizer), but for
    the blanks that a text may have, such as [MASK], and for those that are marked. (A Unigram vocabulary has the texts
    of special tokens among its pieces, and finds them by itself: tfcore.tokenizers.typed_text tells.)

    Unlike our own it may change a text: some make it lower case, or know only some characters.

    Args:
        inner: of the `tokenizers` library.
        byte_level: whether its tokens are written in stand-ins for bytes, as GPT-2's are.
        blanks: texts of special tokens that the library was told are none.

    Raises:
        ValueError: when it is of another kind than WordPiece, Unigram or BPE.
    """

    def __init__(self, inner: HFTokenizer, byte_level: bool = False, blanks: Collection[str] = ()) -> None:
        kinds = (models.BPE, models.WordPiece, models.Unigram)
        if not isinstance(inner.model, kinds):
            named = ", ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"its model {type(inner.model).__name__} is not supported; supported: {named}")
        self._inner, self._byte_level, self._blanks = inner, byte_level, blanks
        inner.encode_special_tokens = True
        self.word_piece = isinstance(inner.model, models.WordPiece)

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return max(self._names, default=-1) + 1

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text -> id of the tokens that no merge makes."""
        return special_in(self._inner, self._blanks)

    def encode(self, text: str) -> list[int]:
        """Ids of a text, those put around it included; a lone surrogate counts as U+FFFD."""
        return list(self._encoded(text).ids)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """For each id of encode(text), which characters of the text it stands for: the first, and the one after the
        last; nothing, (0, 0), for those that are put around it. Marks are no characters of it. The text may have been
        changed on the way."""
        return [(int(a), int(b)) for a, b in self._encoded(text).offsets]

    def _encoded(self, text: str) -> Encoding:
        text, special = without_marks(text, self)
        return (self._reading if special else self._inner).encode(_SURROGATES.sub("\ufffd", text))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without the tokens that encode puts around a text."""
        inside = [i for i in ids if i in self._names and i not in self._around]
        return str(self._inner.decode(inside, skip_special_tokens=False))

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes one id stands for; a WordPiece that continues a word without the mark for that.

        None for an id that has no token: a model's table may have rows that no token uses.
        """
        name = self._names.get(token_id, "")
        if token_id in self._added:
            return name.encode()
        if self._byte_level:
            return bytes(byte for character in name for byte in self._to_bytes.get(character, character.encode()))
        if self.word_piece:
            return name.removeprefix(self._inner.model.continuing_subword_prefix).encode()
        byte = _BYTE.fullmatch(name)
        return bytes([int(byte[1], 16)]) if byte else name.replace(_SPACE, " ").encode()

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """A readable piece per id; a WordPiece keeps the mark (##) that it continues a word."""
        return [self._names.get(i, "") if self.word_piece else readable(self.token_bytes(i)) for i in ids]

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        content = json.loads(self._inner.to_str())
        for token in content["added_tokens"]:
            token["special"] |= token["content"] in self._blanks
        (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), "utf-8")

    @cached_property
    def _reading(self) -> HFTokenizer:
        return reading(self._inner)

    @cached_property
    def _names(self) -> dict[int, str]:
        return {i: token for token, i in self._inner.get_vocab(with_added_tokens=True).items()}

    @cached_property
    def _added(self) -> set[int]:
        return {i for i, token in self._inner.get_added_tokens_decoder().items() if not _BYTE.fullmatch(token.content)}

    @cached_property
    def _around(self) -> set[int]:
        return set(self._inner.encode("").ids)

    @cached_property
    def _to_bytes(self) -> dict[str, bytes]:
        return {character: bytes([byte]) for character, byte in byte_level_alphabet().items()}


class ForeignByteLevelBPE(ForeignTokenizer, ByteLevelBPE):
    """One in bytes that puts tokens around a text, or lacks some byte that no text has."""


class LookedUpTokenizer(ForeignTokenizer):
    """A tokenizer of the library that cuts texts, and a vocabulary that gives the pieces other ids, as Marian's and
    M2M100's do; a piece that it lacks is unknown.

    Args:
        inner: cuts texts into pieces.
        vocabulary: piece -> id.
        unknown: the piece whose id stands for all others.
        codes: whether what a text begins with, such as >>fra<<, is one piece.

    Raises:
        ValueError: there is no id for what is unknown.
    """

    def __init__(self, inner: HFTokenizer, vocabulary: Mapping[str, int], unknown: str, codes: bool) -> None:
        super().__init__(inner)
        if unknown not in vocabulary:
            raise ValueError(f"its vocabulary lacks {unknown[:40]!r}, which stands for all that is unknown")
        self._vocabulary, self._unknown, self._codes = vocabulary, unknown, codes

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text -> id of the tokens that no merge makes."""
        return {text: self._vocabulary[text] for text in special_in(self._inner) if text in self._vocabulary}

    def encode(self, text: str) -> list[int]:
        """Ids of a text, those put around it included."""
        code, rest = self._cut(text)
        pieces = [*filter(None, [code]), *self._encoded(rest).tokens]
        return [self._vocabulary.get(piece, self._vocabulary[self._unknown]) for piece in pieces]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """For each id which characters it stands for; see ForeignTokenizer."""
        code, rest = self._cut(text)
        n = len(code)
        inside = [(a + n, b + n) if b else (0, 0) for a, b in super().offsets(rest)]
        return [(0, n), *inside] if n else inside

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without the tokens that encode puts around a text."""
        inside = [self._names[i] for i in ids if i in self._names and i not in self._around]
        return str(self._inner.decoder.decode(inside))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        content = {
            "kind": LOOKED_UP,
            "tokenizer": json.loads(self._inner.to_str()),
            "vocabulary": dict(self._vocabulary),
        }
        more = {"unknown": self._unknown, "codes": self._codes}
        (folder / "tokenizer.json").write_text(json.dumps(content | more, ensure_ascii=False), "utf-8")

    def _cut(self, text: str) -> tuple[str, str]:
        """What a text begins with, and the rest."""
        match = _CODE.match(text) if self._codes else None
        return (match[0], text[match.end() :]) if match else ("", text)

    @cached_property
    def _names(self) -> dict[int, str]:
        return {i: piece for piece, i in self._vocabulary.items()}

    @cached_property
    def _added(self) -> set[int]:
        return {*self.special_tokens.values()}

    @cached_property
    def _around(self) -> set[int]:
        return {*self.encode("")}


def tokenizer_of(text: str, said: Declared = NOTHING, rows: int = MOST_ROWS) -> Tokenizer:
    """A tokenizer.json of ours, or of the `tokenizers` library: one in bytes that puts nothing around a text is a
    BPETokenizer, all others are run as their authors meant them.

    Args:
        said: what stands beside it in tokenizer_config.json.
        rows: of the model's table.

    Raises:
        Exception: whatever the library makes of a malformed file.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it must hold a JSON object")
    if content.get("kind") == LOOKED_UP:
        return _looked_up(content, said, rows)
    if (own := own_kind(content)) is not None:
        return own
    in_bytes, blanks = _is_byte_level(content), _blanks(content)
    text = json.dumps(content) if blanks else text
    blanks += [token for token, _, _ in said.tokens if BLANK.fullmatch(token)]
    del content  # a large vocabulary takes ten times the memory of its text
    inner = HFTokenizer.from_str(text)
    inner.no_padding()  # settings of somebody's training run
    inner.no_truncation()
    add(inner, said, rows)
    if in_bytes and not inner.encode("").ids:
        with suppress(ValueError):  # a vocabulary with holes, or without some byte
            return BPETokenizer(inner)
    if in_bytes and isinstance(inner.model, models.BPE):
        return ForeignByteLevelBPE(inner, in_bytes, blanks)
    return ForeignTokenizer(inner, in_bytes, blanks)


def _looked_up(content: Mapping[str, Any], said: Declared, rows: int) -> LookedUpTokenizer:
    """The tokenizer of a file of this kind.

    Args: see tokenizer_of.

    Raises:
        ValueError: it lacks what it needs, or a token has another id than is declared.
    """
    vocabulary, unknown = content.get("vocabulary"), content.get("unknown")
    if not isinstance(vocabulary, dict) or not all(type(i) is int and i >= 0 for i in vocabulary.values()):
        raise ValueError("its vocabulary must have an id for each piece")
    inner = HFTokenizer.from_str(json.dumps(content.get("tokenizer")))
    vocabulary = dict(vocabulary)
    for text, number, flags in said.tokens:
        if text not in vocabulary and (new := 1 + max(vocabulary.values(), default=-1)) < rows:
            vocabulary[text] = new
        if number not in (-1, vocabulary.get(text, number)):
            raise ValueError(
                f"tokenizer_config.json gives {text[:40]!r} the id {number}, and it has {vocabulary[text]}"
            )
        inner.add_tokens([AddedToken(text, **dict(zip(FLAGS, flags, strict=True)))])
    return LookedUpTokenizer(inner, vocabulary, str(unknown), bool(content.get("codes")))


def _blanks(content: dict[str, Any]) -> list[str]:
    """The special tokens of a tokenizer.json that a text may have; they are made ordinary ones in it, which the library
    finds whatever it does with special ones."""
    added = content.get("added_tokens")
    blanks = []
    for token in added if isinstance(added, list) else []:
        if isinstance(token, dict) and token.get("special") is True and BLANK.fullmatch(str(token.get("content"))):
            token["special"] = False
            blanks.append(str(token["content"]))
    return blanks


def _is_byte_level(content: dict[str, Any]) -> bool:
    """Whether a tokenizer.json writes its tokens in stand-ins for bytes: its decoder turns them back."""
    decoder = content.get("decoder") or {}
    steps = decoder.get("decoders", [decoder]) if decoder.get("type") == "Sequence" else [decoder]
    return any(step.get("type") == "ByteLevel" for step in steps)


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer.json of ours or of the `tokenizers` library, one that is trusted: it runs in this process, which
    a hostile file can end. `tfcore.tokenizers.isolated.read_tokenizer` is for all others.

    Raises:
        ValueError: when the file is neither.
    """
    try:
        return tokenizer_of(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:  # the library raises bare Exception for a malformed file
        raise ValueError(f"{path} is not a tokenizer file: {error}") from error
