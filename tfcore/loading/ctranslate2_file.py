"""The tensors of a model.bin of CTranslate2, whose header says of each its name, its shape, its type and its bytes.

Everything is small-endian. A string is its length in two bytes, with the 0 that ends it, and its characters. The file:
version of the format, name and revision of the kind of model, number of tensors (4 bytes each number); each tensor:
name, rank (1 byte), each dimension (4), type (1), number of bytes (4), the bytes; number of aliases (4), and each alias
with the name that it stands for.

Source: python/ctranslate2/specs/model_spec.py and src/models/model.cc of CTranslate2 4.
"""

import math
import struct
from pathlib import Path

import torch
from torch import Tensor

from tfcore.files import CheckpointError

VERSION = 6  # of the format; those before it had no aliases, or other ones
TYPES = (torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16)
MOST_TENSORS = 10_000
MOST_DIMENSIONS = 8
LONGEST_NAME = 500


class CTranslate2File:
    """A model.bin with its tensors, which stay in the file until they are asked for.

    Args:
        path: of the file.

    Attributes:
        kind: the name of the kind of model, such as "WhisperSpec".
        names: of all tensors, in the order of the file.
        aliases: name -> the tensor that it stands for.

    Raises:
        CheckpointError: the file is cut off, or says what does not fit together.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0
        size = path.stat().st_size
        self._data = torch.from_file(str(path), size=size, dtype=torch.uint8) if size else torch.empty(0)
        if (version := self._number("I")) != VERSION:
            raise self._error(f"is of version {version} of the format; {VERSION} is read")
        self.kind = self._text()
        self._number("I")  # the revision of the kind
        self._places: dict[str, tuple[int, int, torch.dtype, tuple[int, ...]]] = {}
        for _ in range(self._count("tensors")):
            self._tensor()
        self.names = tuple(self._places)
        self.aliases = {self._text(): self._text() for _ in range(self._count("aliases"))}
        if unknown := [name for name in self.aliases.values() if name not in self._places]:
            raise self._error(f"has an alias of {unknown[0][:80]!r}, which is not in it")
        if (left := len(self._data) - self._at) != 0:
            raise self._error(f"has {left:,} bytes behind its last alias")

    def tensor(self, name: str) -> Tensor:
        """A copy of a tensor, by its name or an alias.

        Raises:
            CheckpointError: there is none.
        """
        name = self.aliases.get(name, name)
        if name not in self._places:
            raise self._error(f"has no {name[:80]}")
        start, end, dtype, shape = self._places[name]
        return self._data[start:end].clone().view(dtype).reshape(shape)

    def _tensor(self) -> None:
        """Note the place of the next tensor."""
        name, rank = self._text(), self._number("B")
        if rank > MOST_DIMENSIONS or name in self._places:
            raise self._error(f"has {name[:80]!r} twice, or with {rank} dimensions")
        shape = tuple(self._number("I") for _ in range(rank))
        kind, size = self._number("B"), self._number("I")
        if kind >= len(TYPES):
            raise self._error(f"has {name[:80]!r} in type {kind}; known are 0 to {len(TYPES) - 1}")
        if (asked := math.prod(shape) * TYPES[kind].itemsize) != size:
            raise self._error(f"has {size:,} bytes of {name[:80]!r}, and its shape asks for {asked:,}")
        start = self._at
        self._skip(size)
        self._places[name] = (start, self._at, TYPES[kind], shape)

    def _count(self, what: str) -> int:
        if (n := self._number("I")) > MOST_TENSORS:
            raise self._error(f"says that it has {n:,} {what}; {MOST_TENSORS:,} are the most that are read")
        return n

    def _number(self, form: str) -> int:
        start = self._at
        self._skip(struct.calcsize(f"<{form}"))
        (number,) = struct.unpack(f"<{form}", self._data[start : self._at].numpy().tobytes())
        return int(number)

    def _text(self) -> str:
        if not 1 <= (length := self._number("H")) <= LONGEST_NAME:
            raise self._error(f"has a name of {length} characters; 1 to {LONGEST_NAME} are read")
        start = self._at
        self._skip(length)
        said = self._data[start : self._at].numpy().tobytes()
        if said[-1] or not said.isascii():
            raise self._error("has a name that is not ASCII, or does not end with 0")
        return said[:-1].decode("ascii")

    def _skip(self, n: int) -> None:
        if self._at + n > len(self._data):
            raise self._error(f"ends after {len(self._data):,} bytes, within what it says that it has")
        self._at += n

    def _error(self, why: str) -> CheckpointError:
        return CheckpointError(f"{self._path} {why}")
