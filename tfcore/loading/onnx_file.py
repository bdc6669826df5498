"""The tensors of an ONNX file, and which of them each of its nodes reads: as much of protobuf as that takes.

For files whose contents are known already, by their SHA-256: nothing here bounds what a hostile file may ask for.
Source: onnx.proto of ONNX 1.17 (ModelProto.graph = 7; GraphProto.node = 1, initializer = 5; NodeProto.input = 1, name =
3; TensorProto.dims = 1, name = 8, raw_data = 9).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

GRAPH, NODE, INITIALISER = 7, 1, 5
INPUT, NODE_NAME = 1, 3
DIMS, TENSOR_NAME, RAW = 1, 8, 9
WIDTHS = {1: 8, 5: 4}  # bytes of fixed numbers, by wire type


class OnnxFile:
    """An ONNX file with float32 tensors.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._data = memoryview(path.read_bytes())
        graph = next(value for number, value in _fields(self._data) if number == GRAPH)
        self._tensors: dict[str, tuple[list[int], memoryview]] = {}
        self._inputs: dict[str, list[str]] = {}
        for number, value in _fields(graph):
            if number == NODE:
                parts = list(_fields(value))
                name = "".join(bytes(one).decode() for field, one in parts if field == NODE_NAME)
                self._inputs[name] = [bytes(one).decode() for field, one in parts if field == INPUT]
            elif number == INITIALISER:
                parts = list(_fields(value))
                dims = [n for field, one in parts if field == DIMS for n in _whole_numbers(one)]
                named, raw = (next(one for field, one in parts if field == asked) for asked in (TENSOR_NAME, RAW))
                self._tensors[bytes(named).decode()] = dims, raw

    @property
    def names(self) -> list[str]:
        """Of all tensors."""
        return list(self._tensors)

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name."""
        dims, raw = self._tensors[name]
        return torch.from_numpy(np.frombuffer(raw, dtype="<f4").reshape(dims).copy())

    def read_by(self, node: str) -> Tensor:
        """The one tensor that a node reads."""
        (name,) = (one for one in self._inputs[node] if one in self._tensors)
        return self.tensor(name)


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Number and content of each field of a message; of a whole number, its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        start = at
        if kind == 2:
            length, start = _varint(data, at)
            at = start + length
        else:
            at = at + WIDTHS[kind] if kind in WIDTHS else _varint(data, at)[1]
        yield number, data[start:at]


def _whole_numbers(data: memoryview) -> Iterator[int]:
    """Whole numbers, one after the other."""
    at = 0
    while at < len(data):
        number, at = _varint(data, at)
        yield number


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, the lowest first, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
