"""The arrays of a measurement in a file beside a model's weights, some of them in half precision."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tfcore.files import CheckpointError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Measured = TypeVar("Measured", bound="DataclassInstance")


def save_arrays(path: Path, measured: "DataclassInstance", halved: Sequence[str], licence: str | None = None) -> None:
    """Write a dataclass of arrays.

    Args:
        halved: names of those that are kept in half precision.
        licence: of what is in them; kept in the file.
    """
    arrays = {one.name: getattr(measured, one.name) for one in fields(measured)}
    arrays |= {name: arrays[name].astype(np.float16) for name in halved}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(arrays, path, metadata=None if licence is None else {"licence": licence})


def load_arrays(kind: type[Measured], path: Path, halved: Sequence[str], recipe: str) -> Measured:
    """Read what save_arrays wrote, all in single precision or whole numbers.

    Args:
        recipe: that makes the file.

    Raises:
        CheckpointError: there is none, or it is damaged.
    """
    try:
        arrays = load_file(path)
        return kind(**arrays | {name: arrays[name].astype(np.float32) for name in halved})
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} cannot be read: {error}; `python -m tfcore.training {recipe}` makes it"
        ) from error
