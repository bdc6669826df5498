"""Weights in safetensors files, one or several: what is in them, read tensor by tensor; and the memory they take."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from tfcore.files import CheckpointError, check_file, check_values, read_json, size
from tfcore.loading import mxfp4

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MAX_INDEX_BYTES = 10_000_000  # DeepSeek V3, of 91,991 tensors, has 8.9 million; they are read while all else waits
PICKLES = ("pytorch_model*.bin", "adapter_model.bin", "*.pt", "*.pth")
NUMBERS = ("F16", "BF16", "F32", "F64")  # as safetensors calls them


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a model is on its way.

    Args:
        stage: what is going on: files come from the hub, or tensors from files.
        done, total: bytes.
    """

    stage: Literal["download", "load"]
    done: int
    total: int


Tell: TypeAlias = Callable[[LoadProgress], None]


def read_floats(path: Path) -> dict[str, Tensor]:
    """All tensors of a small safetensors file, in float32.

    Raises:
        CheckpointError: it is missing or damaged.
    """
    check_file(path)
    try:
        return {name: value.float() for name, value in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def write_open(folder: Path, tensors: Mapping[str, Tensor], settings: Mapping[str, object]) -> None:
    """Write tensors and each of the settings, as NAME.json, into a folder, for all to read: what save_file writes, only
    its owner may, and the container's server is another user than the one that fetched."""
    (folder / SINGLE).write_bytes(save(dict(tensors)))
    for name, values in settings.items():
        (folder / f"{name}.json").write_text(json.dumps(values, indent=2) + "\n", "utf-8")


def shards(folder: Path) -> dict[str, str] | None:
    """Tensor -> file, as the index of a folder says; None where there is no index.

    Raises:
        CheckpointError: an index that is damaged or names something else than files beside it.
    """
    if not (path := folder / INDEX).is_file():
        return None
    places = read_json(path, MAX_INDEX_BYTES).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(f"{path} has no weight_map that says which tensor is in which file")
    for name in places.values():
        plain = isinstance(name, str) and name.endswith(".safetensors") and name.isprintable()
        if not plain or any(mark in name for mark in "/\\:*?[]") or name.startswith("."):
            raise CheckpointError(f"{path} names {str(name)[:80]!r}, which is no safetensors file beside it")
    return places


class Weights:
    """The tensors of a folder, of which those in MXFP4 stand for the weight they make up. Headers are read at once,
    numbers when asked for.

    Args:
        folder: with the file, or an index and its files.
        canonical: the name a tensor is to have; None leaves it out.
        file: that has all of them where there is no index.

    Raises:
        CheckpointError: what is missing or damaged.
    """

    def __init__(self, folder: Path, canonical: Callable[[str], str | None] = str, file: str = SINGLE) -> None:
        self._open = ExitStack()
        self._slices: dict[str, Any] = {}
        self._files: dict[str, Path] = {}
        self.path = folder / file
        try:
            places = None if self.path.is_file() or file != SINGLE else shards(folder)
            if places is None:
                self._add(self.path, None, canonical)
            else:
                self.path = folder / INDEX
                inside: dict[str, list[str]] = {}
                for name, part in places.items():
                    inside.setdefault(part, []).append(name)
                for part in sorted(inside):
                    self._add(folder / part, inside[part], canonical)
            self._unpack()
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> "Weights":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def __contains__(self, name: str) -> bool:
        return name in self._slices

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every tensor."""
        return {name: tuple(part.get_shape()) for name, part in self._slices.items()}

    def check_numbers(self, names: list[str]) -> None:
        """Refuse tensors that are no floating-point numbers."""
        for name in names:
            if (kind := self._slices[name].get_dtype()) not in NUMBERS:
                raise CheckpointError(f"{self._files[name]}: {name} is {kind}, not one of {', '.join(NUMBERS)}")

    def is_float16(self, name: str) -> bool:
        """Whether the numbers of a tensor are in float16."""
        return bool(self._slices[name].get_dtype() == "F16")

    def read(self, name: str) -> Tensor:
        """The numbers of one tensor. They may still lie in the file: copy what is to be kept."""
        try:
            return self._slices[name][...]
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{self._files[name]} is damaged or no safetensors file: {error}") from error

    def same(self, one: str, other: str) -> bool:
        """Whether two tensors are equal."""
        return torch.equal(self.read(one), self.read(other))

    def _add(self, path: Path, names: list[str] | None, canonical: Callable[[str], str | None]) -> None:
        if names is None and not path.exists():
            raise CheckpointError(f"{path} is missing{_pickles(path.parent)}")
        check_file(path)
        _check_header(path)
        try:
            file = self._open.enter_context(safe_open(path, framework="pt"))
            there = set(file.keys())
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path} is damaged or no safetensors file: {error}") from error
        for name in sorted(there) if names is None else names:
            if name not in there:
                raise CheckpointError(f"{path} lacks {name}, which {INDEX} says is in it")
            if (own := canonical(name)) is None:
                continue
            if own in self._slices:
                raise CheckpointError(f"{path} holds {name}, of which there is another copy under another name")
            self._slices[own], self._files[own] = file.get_slice(name), path

    def _unpack(self) -> None:
        """Put one weight in the place of two tensors in MXFP4."""
        for blocks in [name for name in self._slices if name.endswith(mxfp4.BLOCKS)]:
            name = blocks.removesuffix(mxfp4.BLOCKS)
            scales = self._slices.get(f"{name}{mxfp4.SCALES}")
            weight = None if scales is None else mxfp4.PackedWeight.of(self._slices[blocks], scales)
            if weight is not None and name not in self._slices:
                del self._slices[f"{name}{mxfp4.SCALES}"], self._slices[blocks]
                self._slices[name], self._files[name] = weight, self._files[blocks]


def _check_header(path: Path) -> None:
    """Refuse a header that is longer than those of real files: reading it would hold up everything else."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if path.stat().st_size >= length > MAX_INDEX_BYTES:
            raise CheckpointError(
                f"{path} has a header of {size(length)}, more than the {size(MAX_INDEX_BYTES)} such may"
            )
        check_values(path, file.read(min(length, MAX_INDEX_BYTES)).decode("latin-1"))


def _pickles(folder: Path) -> str:
    """The end of the message where weights are there, but as pickles; else empty."""
    found = sorted(path for form in PICKLES for path in folder.glob(form))
    if not found:
        return ""
    return f", and {found[0].name} is a pickle, which can run any program and is not opened; convert it to safetensors"


def bytes_of(shapes: Mapping[str, tuple[int, ...]], types: Mapping[str, torch.dtype]) -> int:
    """The memory that tensors take."""
    return sum(torch.Size(shape).numel() * types[name].itemsize for name, shape in shapes.items())


def check_memory(shapes: Mapping[str, tuple[int, ...]], types: Mapping[str, torch.dtype], device: torch.device) -> None:
    """Refuse weights that do not fit into the memory that is free.

    Raises:
        CheckpointError: how much is needed, and how much there is.
    """
    needed, free = bytes_of(shapes, types), free_memory(device)
    if free is not None and needed > free:
        narrowest = min(types.values(), key=lambda dtype: dtype.itemsize)
        raise CheckpointError(
            f"the model needs {size(needed)} of memory for its weights in {str(narrowest).removeprefix('torch.')}, "
            f"{size(free)} are available on {device}; take a smaller model or a dtype of fewer bytes"
        )


def free_memory(device: torch.device) -> int | None:
    """Bytes that a model may take on a device, as far as the system tells."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    limits = [free for free in (machine_memory(), container_memory()) if free is not None]
    return min(limits) if limits else None


def machine_memory(path: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes of memory that are free on the machine; where it does not say, all of its memory."""
    try:
        for line in path.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def container_memory(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that a container's limit leaves; files that are only cached count as free."""
    try:
        limit, used = (int((folder / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
        cached = dict(line.split() for line in (folder / "memory.stat").read_text("ascii").splitlines())
        return max(0, limit - used + int(cached.get("inactive_file", 0)))
    except (OSError, ValueError):
        return None  # no such limit, or none that says so
