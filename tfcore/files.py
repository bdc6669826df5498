"""Files that anybody may have written, read within limits and refused in one sentence; files written as a whole."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

MAX_JSON_BYTES = 1_000_000
MOST_VALUES = 400_000  # in JSON; DeepSeek V3's index has 91,991, and a million small lists take 0.1 GB and a second
MAX_TOKENIZER_BYTES = 40_000_000  # Gemma 3, the largest in use, has 33 million


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message says what is wrong and where, in one sentence."""


def read_json(path: Path, largest: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        CheckpointError: missing, too large, or something else.
    """
    values = _read_values(path, largest)
    if not isinstance(values, dict):
        raise CheckpointError(f"{path} must hold a JSON object")
    return values


def read_json_list(path: Path, largest: int = MAX_JSON_BYTES) -> list[dict[str, Any]]:
    """The JSON list of objects in a file.

    Raises:
        CheckpointError: missing, too large, or something else.
    """
    values = _read_values(path, largest)
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        raise CheckpointError(f"{path} must hold a JSON list of objects")
    return values


def _read_values(path: Path, largest: int) -> Any:
    said = read_text(path, largest)
    check_values(path, said)
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error


def read_text(path: Path, largest: int) -> str:
    """The text of a small file.

    Raises:
        CheckpointError: missing, too large, no text, or no file.
    """
    check_file(path)
    try:
        if path.stat().st_size > largest:
            raise CheckpointError(f"{path} is larger than {largest:,} bytes, too large for a config")
        return path.read_text("utf-8")
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} cannot be read as text: {error.reason} at byte {error.start:,}") from error


def check_values(path: Path, said: str) -> None:
    """Refuse JSON of more values than any real file has, before memory is taken for each."""
    if sum(map(said.count, ",[{")) > MOST_VALUES:
        raise CheckpointError(f"{path} has more than {MOST_VALUES:,} values, more than any model needs")


def check_file(path: Path) -> None:
    """Refuse what is no file with contents of its own, such as a pipe, which would be waited for without end.

    Raises:
        CheckpointError: it is missing, or something else.
    """
    if path.is_file():
        return
    if path.is_dir():
        raise CheckpointError(f"{path} cannot be read: it is a folder")
    there = path.is_symlink() or path.exists()
    raise CheckpointError(f"{path} is no ordinary file" if there else f"{path} is missing")


@contextmanager
def as_a_whole(path: Path) -> Iterator[Path]:
    """A path to write to, beside this one, whose place it takes when all is written: whoever stops in between leaves
    what was there before, and nothing that is cut off. Folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    yield beside
    beside.replace(path)


def write_array(path: Path, array: np.ndarray) -> None:
    """An .npy file of an array, as a whole or not at all."""
    with as_a_whole(path) as beside, beside.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def size(n: int) -> str:
    """Bytes in words."""
    return f"{n / 1e9:.1f} GB" if n >= 10**8 else f"{n / 1e6:.1f} MB"
