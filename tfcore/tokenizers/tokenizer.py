"""Text to ids and back: bytes, characters, and byte-level BPE, behind one interface.

All three give any text back exactly, every code point included (lone surrogates too, which Python strings may hold).
A fourth knows only the names of a small task's tokens.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tokenizers import Tokenizer as HFTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

SEPARATOR = "<|endoftext|>"  # between documents in training text
MARK = "\U000f0001"  # of private use: before a special token in a text that is to be read as that token
MOST_NAMES = 4_096  # of a NamedTokenizer that is read from a file: finding one of them takes time for each
_SURROGATES = re.compile("([\ud800-\udfff]+)")


@runtime_checkable
class Tokenizer(Protocol):
    """The interface of every tokenizer."""

    @property
    def vocab_size(self) -> int:
        """How many ids there are."""
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of a text; decode gives it back exactly. Special tokens in it are text like any other, but for those that
        are marked (tfcore.tokenizers.typed_text)."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; bytes that are no valid UTF-8, as a model may generate, become U+FFFD."""
        ...

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes one id stands for."""
        ...

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """A readable piece per id; one that is part of a character shows its bytes, like <0xE2>."""
        ...

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text -> id of the tokens that no merge makes: the ends of texts, the beginnings of turns."""
        ...

    def save(self, folder: Path) -> None:
        """Write tokenizer.json."""
        ...


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


class _Pieces:
    """decode and tokens, from token_bytes alone."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        return {}

    def token_bytes(self, token_id: int) -> bytes:
        raise LookupError(token_id)

    def decode(self, ids: Sequence[int]) -> str:
        return _decode(b"".join(self.token_bytes(i) for i in ids))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [readable(self.token_bytes(i)) for i in ids]


def readable(data: bytes) -> str:
    """The text of a token, or its bytes, like <0xE2>, where it is but a part of a character."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in data)


class ByteTokenizer(_Pieces):
    """One id per byte of the UTF-8 text: 256 ids, nothing to learn."""

    vocab_size = 256

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8", "surrogatepass"))

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])

    def save(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text(json.dumps({"kind": "bytes"}), "utf-8")


class CharacterTokenizer(_Pieces):
    """One id per known character; a character outside the alphabet falls back to its bytes (ids 0 to 255).

    Args:
        alphabet: the known characters, each once; they get the ids from 256 on, in this order.
    """

    def __init__(self, alphabet: str) -> None:
        if len(set(alphabet)) != len(alphabet):
            raise ValueError("the alphabet names a character twice; give each character once")
        self.alphabet = alphabet
        self._ids = {character: 256 + i for i, character in enumerate(alphabet)}

    @classmethod
    def train(cls, texts: Iterable[str]) -> "CharacterTokenizer":
        """The alphabet of all characters that occur, in code point order."""
        return cls("".join(sorted(set().union(*map(set, texts)))))

    @property
    def vocab_size(self) -> int:
        return 256 + len(self.alphabet)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for character in text:
            known = self._ids.get(character)
            ids.extend(character.encode("utf-8", "surrogatepass") if known is None else (known,))
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id]) if token_id < 256 else self.alphabet[token_id - 256].encode("utf-8", "surrogatepass")

    def save(self, folder: Path) -> None:
        content = {"kind": "characters", "alphabet": self.alphabet}
        (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")


class NamedTokenizer(_Pieces):
    """One id per name, such as "a" or "12": of models that were trained on symbols and not on texts.

    In a text the longest name that fits is taken, and what has no name is left out, so texts do not come back exactly.

    Args:
        names: by id, each once.
    """

    def __init__(self, names: Sequence[str]) -> None:
        if len(set(names)) != len(names) or "" in names:
            raise ValueError("every token needs a name of its own")
        self.names = tuple(names)
        self._ids = {name: i for i, name in enumerate(names)}
        self._pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))

    @property
    def vocab_size(self) -> int:
        return len(self.names)

    def encode(self, text: str) -> list[int]:
        return [self._ids[name] for name in self._pattern.findall(text)]

    def token_bytes(self, token_id: int) -> bytes:
        known = 0 <= token_id < len(self.names)
        return self.names[token_id].encode("utf-8", "surrogatepass") if known else b""

    def to_json(self) -> str:
        """The text of its tokenizer.json."""
        return json.dumps({"kind": "names", "names": self.names})

    def save(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text(self.to_json(), "utf-8")


class ByteLevelBPE:
    """How a byte-level BPE of the `tokenizers` library cuts a text and merges its bytes."""

    _inner: HFTokenizer

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The two pieces that each merge joins, in the order in which they were learned: the rank is the place here."""
        to_byte = byte_level_alphabet()
        pairs = json.loads(self._inner.to_str())["model"]["merges"]
        return [(bytes(to_byte[c] for c in left), bytes(to_byte[c] for c in right)) for left, right in pairs]

    def words(self, text: str) -> list[bytes]:
        """The pieces into which a text is cut before any merge (words with the space before them, numbers, signs): no
        token reaches across."""
        to_byte = byte_level_alphabet()
        pieces: list[bytes] = []
        for i, part in enumerate(_SURROGATES.split(text)):
            if i % 2:
                pieces.extend(bytes([byte]) for byte in part.encode("utf-8", "surrogatepass"))
            elif part:
                cut = self._inner.pre_tokenizer.pre_tokenize_str(part)
                pieces.extend(bytes(to_byte[c] for c in word) for word, _ in cut)
        return pieces


class BPETokenizer(_Pieces, ByteLevelBPE):
    """Byte-level byte-pair encoding (arXiv:1508.07909, on bytes as in GPT-2), by the `tokenizers` library.

    Special tokens in a text are ordinary text, unless they are marked: nobody can type a separator.

    Raises:
        ValueError: when the vocabulary lacks a byte or has holes.
    """

    def __init__(self, inner: HFTokenizer) -> None:
        ids = inner.get_vocab(with_added_tokens=True)
        if lacking := [byte for character, byte in byte_level_alphabet().items() if character not in ids]:
            raise ValueError(f"a byte-level vocabulary has all 256 bytes; this one lacks {len(lacking)} of them")
        if max(ids.values()) != len(ids) - 1:
            raise ValueError(f"{len(ids)} tokens have ids up to {max(ids.values())}; there must be no holes")
        self._inner = inner
        inner.encode_special_tokens = True

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int) -> "BPETokenizer":
        """Learn merges from texts, until there are vocab_size ids; id 0 is the document separator."""
        if vocab_size < 257:
            raise ValueError(f"vocab_size={vocab_size} must be at least 257: 256 bytes and the separator")
        inner = HFTokenizer(models.BPE())
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size, special_tokens=[SEPARATOR], initial_alphabet=alphabet, show_progress=False
        )
        inner.train_from_iterator(texts, trainer)
        return cls(inner)

    @property
    def vocab_size(self) -> int:
        return self._inner.get_vocab_size()

    @property
    def special_tokens(self) -> Mapping[str, int]:
        return special_in(self._inner)

    @property
    def separator_id(self) -> int | None:
        """The id between documents, if this tokenizer has one."""
        return self._inner.token_to_id(SEPARATOR)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        text, special = without_marks(text, self)
        inner = self._reading if special else self._inner
        for i, part in enumerate(_SURROGATES.split(text)):
            if i % 2:  # the library takes no surrogates: their bytes, one by one
                ids.extend(self._byte_ids[byte] for byte in part.encode("utf-8", "surrogatepass"))
            elif part:
                ids.extend(inner.encode(part, add_special_tokens=False).ids)
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        known = 0 <= token_id < len(self._bytes)
        return self._bytes[token_id] if known else b""  # a model's table may have rows that no token uses

    def save(self, folder: Path) -> None:
        self._inner.save(str(folder / "tokenizer.json"))

    @cached_property
    def _reading(self) -> HFTokenizer:
        return reading(self._inner)

    @cached_property
    def _bytes(self) -> list[bytes]:
        vocabulary = sorted(self._inner.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
        to_byte = byte_level_alphabet()
        added = set(self._inner.get_added_tokens_decoder())
        return [
            token.encode() if token_id in added else bytes(to_byte[character] for character in token)
            for token, token_id in vocabulary
        ]

    @cached_property
    def _byte_ids(self) -> list[int]:
        back = {byte: character for character, byte in byte_level_alphabet().items()}
        vocabulary = self._inner.get_vocab(with_added_tokens=True)
        return [vocabulary[back[byte]] for byte in range(256)]


def special_in(inner: HFTokenizer, more: Collection[str] = ()) -> dict[str, int]:
    """Text -> id of the special tokens of a tokenizer of the library, and of those named besides."""
    added = inner.get_added_tokens_decoder().items()
    return {token.content: i for i, token in added if token.special or token.content in more}


def reading(inner: HFTokenizer) -> HFTokenizer:
    """A copy of a tokenizer of the library that reads special tokens in a text as these tokens: the setting of one that
    threads share cannot be changed for a text."""
    copy = HFTokenizer.from_str(inner.to_str())
    copy.encode_special_tokens = False
    return copy


def without_marks(text: str, tokenizer: Tokenizer) -> tuple[str, bool]:
    """A text without the marks before special tokens, and whether there were any; elsewhere the sign is a character
    like any other."""
    if MARK not in text or not (special := tokenizer.special_tokens):
        return text, False
    plain = re.sub(f"{MARK}+(?=({'|'.join(map(re.escape, special))}))", "", text)
    return plain, plain != text


def unmarked(text: str) -> str:
    """A text in which every special token is text like any other."""
    return text.replace(MARK, "")


def byte_level_alphabet() -> dict[str, int]:
    """The printable stand-in of each byte in a byte-level vocabulary: itself where Latin-1 prints, else from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def own_kind(content: Any) -> Tokenizer | None:
    """The tokenizer of a file that this module wrote without the library; None for one of the library's.

    Raises:
        ValueError: one of ours, and damaged.
    """
    match content:
        case {"kind": "bytes"}:
            return ByteTokenizer()
        case {"kind": "characters", "alphabet": str(alphabet)}:
            return CharacterTokenizer(alphabet)
        case {"kind": "names", "names": [*names]} if len(names) <= MOST_NAMES:
            return NamedTokenizer([str(name) for name in names])
        case {"kind": kind}:
            raise ValueError(f"kind={str(kind)[:40]!r} is none of bytes, characters and names, or lacks what it needs")
    return None
