"""A GGUF file: settings, and tensors that are mostly quantised; read as numbers of float32, one tensor at a time.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The `gguf` package knows the kinds of numbers and
turns them back (dequantises them). Its reader trusts every length that a file states; this one checks each against
the size of the file first, because the file may come from anybody.
"""

import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import torch
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize
from torch import Tensor

from tfcore.files import CheckpointError, check_file, size

MAGIC, VERSIONS = b"GGUF", (2, 3)
KINDS = {
    *("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"),
    *("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS"),
    *("TQ1_0", "TQ2_0", "MXFP4", "NVFP4"),
}
# What may stand beside the numbers of "….weight": a factor of all of them, or of each expert, as NVFP4 has it; and one
# of what they are multiplied with, for processors that round that, too.
FACTOR, FACTOR_OF_INPUT = ".scale", ".input_scale"
MOST_TENSORS, MOST_SETTINGS = 100_000, 10_000
MOST_ELEMENTS = 2_000_000  # of all lists; the largest vocabularies have 262,144 tokens and twice as many merges
MAX_HEADER_BYTES = 60_000_000  # Gemma 3's has 15 million
FIRST_PIECE = 1_000_000  # bytes of a header elsewhere that are asked for first; each further piece doubles them
LONGEST_NAME = 200  # bytes
LONGEST_TEXT = 1_000_000  # bytes
BLOCK = 1 << 20  # numbers that are dequantised at a time
# Type number -> struct letter. 8 is a text, 9 a list.
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9
Value: TypeAlias = int | float | bool | str | list[str] | np.ndarray


class GGUFMetadata(dict[str, Value]):
    """Key -> value of a file, each read as what belongs there.

    Args:
        where: the file, for messages.

    Raises:
        CheckpointError: by every method: the file has something else under this key.
    """

    def __init__(self, where: str, values: Mapping[str, Value] | None = None) -> None:
        super().__init__(values or {})
        self._where = where

    def number(self, key: str, default: Any = None) -> Any:
        """The number under a key; a list of numbers is refused."""
        return self._of_kind(key, default, (int, float), "a number")

    def text(self, key: str, default: Any = None) -> Any:
        """The text under a key."""
        return self._of_kind(key, default, (str,), "a text")

    def flag(self, key: str, default: Any = None) -> Any:
        """True or false."""
        return self._of_kind(key, default, (bool,), "true or false")

    def listed(self, key: str, default: Any = None) -> "list[str] | np.ndarray | None":
        """A list."""
        return self._of_kind(key, default, (list, np.ndarray), "a list")

    def _of_kind(self, key: str, default: Any, kinds: tuple[type, ...], called: str) -> Any:
        if (value := super().get(key)) is None:
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            said = f"a list of {len(value):,}" if isinstance(value, list | np.ndarray) else repr(value)[:40]
            raise CheckpointError(f"{self._where} has {said} in {key[:LONGEST_NAME]}, where {called} belongs")
        return value


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where a tensor is.

    Args:
        shape: as torch has it, rows first.
        kind: of its numbers.
        start, size: bytes in the file.
    """

    shape: tuple[int, ...]
    kind: GGMLQuantizationType
    start: int
    size: int

    @property
    def row_size(self) -> int:
        """Bytes of one row."""
        block, taken = GGML_QUANT_SIZES[self.kind]
        return self.shape[-1] // block * taken

    def part(self, number: int) -> "TensorEntry":
        """One of the parts along the first dimension, of which there are two more at least."""
        length = self.size // self.shape[0]
        return TensorEntry(self.shape[1:], self.kind, self.start + number * length, length)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file that is not on this machine.

    Args:
        size: bytes of all of it.
        part: its bytes from a place on, as many as asked for.
    """

    size: int
    part: Callable[[int, int], bytes]


class GgufFile:
    """The settings of a file and where its tensors are; numbers are read when asked for.

    Args:
        path: of the file, or what messages are to call it.
        elsewhere: the file, if it is not on this machine: its header is fetched, and of numbers those asked for.

    Attributes:
        settings: see GGUFMetadata; lists of texts are lists, lists of numbers arrays.
        tensors: name -> TensorEntry.

    Raises:
        CheckpointError: not a GGUF file, cut short, or one that says what cannot be.
    """

    def __init__(self, path: Path, elsewhere: Elsewhere | None = None) -> None:
        self.path, self.elsewhere = path, elsewhere
        self._joined: dict[str, GgufFile] = {}  # tensor -> the other file that it is in
        if elsewhere is not None:
            self.settings, self.tensors = _Header(bytearray(), str(path), elsewhere).read()
            return
        check_file(path)
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
        try:
            if path.stat().st_size == 0:
                raise CheckpointError(f"{path} is empty")
            with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                self.settings, self.tensors = _Header(content, str(path)).read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "GgufFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for file in {id(file): file for file in self._joined.values()}.values():
            file.__exit__(kind, error, at)
        if self.elsewhere is None:
            self._file.close()

    def join(self, other: "GgufFile") -> None:
        """Add the tensors of another file, which is closed with this one.

        Raises:
            CheckpointError: both have a tensor of one name.
        """
        for name in other.tensors:
            if name in self.tensors:
                raise CheckpointError(f"{other.path} has {name}, which another part of the model has, too")
        self._joined |= dict.fromkeys(other.tensors, other)
        self.tensors |= other.tensors

    def is_beside(self, name: str) -> bool:
        """Whether a tensor is a factor that belongs to another one."""
        return any(
            name.endswith(end) and f"{name.removesuffix(end)}.weight" in self.tensors
            for end in (FACTOR, FACTOR_OF_INPUT)
        )

    def read(self, name: str, part: int | None = None) -> Tensor:
        """The numbers of a tensor, or of one of its parts along the first dimension, in float32, in memory of its
        own; times the factor beside it, where there is one.

        Raises:
            CheckpointError: a factor that is neither one number nor one for each expert.
        """
        numbers, beside = self._numbers(name, part), f"{name.removesuffix('.weight')}{FACTOR}"
        if not name.endswith(".weight") or beside not in self.tensors:
            return numbers
        shape, factor = self.tensors[name].shape, self._numbers(beside).flatten()
        if len(factor) == 1:
            return numbers.mul_(factor)
        if len(shape) != 3 or len(factor) != shape[0]:
            raise CheckpointError(f"{self.path} has {beside} of {len(factor)} numbers for {name} of the shape {shape}")
        return numbers.mul_(factor[:, None, None] if part is None else factor[part])

    def _numbers(self, name: str, part: int | None = None) -> Tensor:
        if name in self._joined:
            return self._joined[name]._numbers(name, part)
        entry = self.tensors[name] if part is None else self.tensors[name].part(part)
        numbers, at = np.empty((entry.size // entry.row_size, entry.shape[-1]), np.float32), entry.start
        with np.errstate(all="ignore"):  # a damaged scale may be anything; load refuses what is not finite
            for some in np.array_split(numbers, max(1, numbers.size // BLOCK)):  # a row for each row of the matrix
                rows = np.frombuffer(self._part(at, len(some) * entry.row_size), np.uint8)
                some[:] = dequantize(rows.reshape(len(some), -1), entry.kind)
                at += rows.size
        return torch.from_numpy(numbers.reshape(entry.shape))

    def _part(self, start: int, n: int) -> bytes:
        if self.elsewhere is not None:
            return self.elsewhere.part(start, n)
        self._file.seek(start)
        return self._file.read(n)


class _Header:
    """Reads what stands before the numbers, from one place to the next.

    Args:
        content: all of the file; of one elsewhere what has been fetched of its beginning, which grows.
    """

    def __init__(self, content: mmap.mmap | bytearray, where: str, elsewhere: Elsewhere | None = None) -> None:
        self._content, self._where, self._elsewhere, self._at = content, where, elsewhere, 0
        self._size = len(content) if elsewhere is None else elsewhere.size
        self._elements = 0
        self._end = min(self._size, MAX_HEADER_BYTES)

    def read(self) -> tuple[GGUFMetadata, dict[str, TensorEntry]]:
        """Settings and tensors."""
        start = self._take(len(MAGIC))
        if self._content[start : self._at] != MAGIC:
            raise self._error("is no GGUF file: it does not begin with GGUF")
        if (version := self._number("I")) not in VERSIONS:
            raise self._error(f"is GGUF of version {version}; versions 2 and 3 can be read")
        n_tensors, n_settings = self._number("Q"), self._number("Q")
        if n_tensors > MOST_TENSORS or n_settings > MOST_SETTINGS:
            raise self._error(f"says it has {n_tensors:,} tensors and {n_settings:,} settings, more than any model has")
        settings = GGUFMetadata(self._where)
        for _ in range(n_settings):
            name = self._text(LONGEST_NAME)
            settings[name] = self._value(self._number("I"))
        stated = [self._tensor() for _ in range(n_tensors)]
        alignment = settings.number("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 16:
            raise self._error(f"has general.alignment={alignment}, which is not between 1 and 65,536")
        return settings, self._placed(stated, -(-self._at // alignment) * alignment)

    def _placed(self, stated: list[tuple[str, tuple[int, ...], int, int]], start: int) -> dict[str, TensorEntry]:
        """The tensors with their places, the first number being at `start`."""
        entries: dict[str, TensorEntry] = {}
        for name, shape, number, offset in stated:
            kind = _kind(number)
            if kind is None or kind.name not in KINDS:
                called = str(number) if kind is None else kind.name
                raise self._error(f"has {name} in {called}; {', '.join(sorted(KINDS))} can be read")
            block, taken = GGML_QUANT_SIZES[kind]
            if shape[-1] % block:
                raise self._error(
                    f"has {name} with rows of {shape[-1]:,}, which {kind.name} cuts into blocks of {block}"
                )
            length = int(torch.Size(shape).numel()) // block * taken
            if start + offset + length > self._size:
                raise self._error(f"is cut short: {name} would end at {size(start + offset + length)}")
            if name in entries:
                raise self._error(f"has {name} twice")
            entries[name] = TensorEntry(shape, kind, start + offset, length)
        return entries

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape, number of the kind, and offset, as they stand there."""
        name, n = self._text(LONGEST_NAME), self._number("I")
        if not 1 <= n <= 4:
            raise self._error(f"has {name} of {n} dimensions; 1 to 4 can be read")
        shape = tuple(self._number("Q") for _ in range(n))[::-1]  # the fastest one stands first
        product = 1
        for length in shape:
            product *= length
            if not 1 <= product <= 1 << 42:
                raise self._error(f"has {name} of the shape {shape}, which cannot be")
        number, offset = self._number("I"), self._number("Q")
        return name, shape, number, offset

    def _value(self, kind: int) -> Value:
        if kind == TEXT:
            return self._text(LONGEST_TEXT)
        if kind == LIST:
            return self._list()
        if kind not in NUMBERS:
            raise self._error(f"has a setting of the unknown type {kind}")
        return self._number(NUMBERS[kind])

    def _list(self) -> "list[str] | np.ndarray":
        kind, n = self._number("I"), self._number("Q")
        self._elements += n
        if self._elements > MOST_ELEMENTS:
            raise self._error(f"has lists of {self._elements:,} elements; at most {MOST_ELEMENTS:,} can be read")
        if kind == TEXT:
            return [self._text(LONGEST_TEXT) for _ in range(n)]
        if kind not in NUMBERS:
            raise self._error(f"has a list of the unsupported type {kind}")
        numbers = np.dtype("<" + NUMBERS[kind])
        start = self._take(n * numbers.itemsize)
        return np.frombuffer(self._content, numbers, n, start).copy()

    def _number(self, letter: str) -> Any:
        numbers = struct.Struct("<" + letter)
        return numbers.unpack_from(self._content, self._take(numbers.size))[0]

    def _text(self, longest: int) -> str:
        n = self._number("Q")
        if n > longest:
            raise self._error(f"has a name or text of {n:,} bytes; at most {longest:,} can be read")
        start = self._take(n)
        return self._content[start : start + n].decode("utf-8", "replace")

    def _take(self, n: int) -> int:
        """The place of the next n bytes, which are read by that."""
        start = self._at
        self._at += n
        if self._at > self._end:
            if self._end < self._size:
                raise self._error(f"has a header of more than {size(MAX_HEADER_BYTES)}")
            raise self._error("is cut short in its header")
        self._fetch()
        return start

    def _fetch(self) -> None:
        """Get what is read now of a file elsewhere, in pieces that grow."""
        while isinstance(self._content, bytearray) and self._elsewhere and self._at > len(self._content):
            there = len(self._content)
            self._content += self._elsewhere.part(there, min(max(there, FIRST_PIECE), self._end - there))

    def _error(self, what: str) -> CheckpointError:
        return CheckpointError(f"{self._where} {what}")


def _kind(number: int) -> GGMLQuantizationType | None:
    try:
        return GGMLQuantizationType(number)
    except ValueError:
        return None
