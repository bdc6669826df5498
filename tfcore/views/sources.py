"""Inputs of views: models, by a name or a folder that is loaded and that an application keeps in its own way; a text as
a model reads it; and files of one's own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tfcore.part_configs import Part

Content = TypeVar("Content")
Source: TypeAlias = str | tuple[Any, Any]  # a name or a folder, as `tfcore.load` takes it; or what that returns


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a model reads it.

    Args:
        model: a name, a folder, or a model with its tokenizer.
        text: as it was typed.
        part: whose attention is meant; None for the last that the model has.
        bos: whether the token that says that a text begins stands before it; None for as its tokenizer does.
        hide_sink: whether attention leaves out the first token, and divides the rest by its sum.
    """

    model: Source
    text: str
    part: Part | None = None
    bos: bool | None = None
    hide_sink: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A picture or a sound in a file of one's own.

    Args:
        path: of the file.
        content: what an application has read of it already; a view does not note it, and a program reads the path.
    """

    path: str
    content: Any = None

    def read(self, decode: Callable[[bytes], Content]) -> Content:
        """The content, decoded from the bytes of the file where it was not read yet."""
        return decode(Path(self.path).read_bytes()) if self.content is None else self.content


def name_of(source: Source) -> str:
    """The name of a model in a sentence."""
    return source if isinstance(source, str) else "a model of your own"


def in_memory(value: Any) -> bool:
    """Whether a value is a model with its tokenizer, and no name of one."""
    from torch import nn  # here, as below

    return isinstance(value, tuple) and any(isinstance(part, nn.Module) for part in value)


def _load(name: str) -> Any:
    from tfcore.loading.checkpoints import load  # here, because it imports torch, which a name need not wait for

    return load(name)


_opener: list[Callable[[str], Any]] = [lru_cache(maxsize=2)(_load)]


def opened(source: Source) -> Any:
    """A model and its tokenizer; nobody may change them.

    Raises:
        ValueError: a model without a tokenizer, which reads no text.
    """
    model, tokenizer = _opener[-1](source) if isinstance(source, str) else source
    if tokenizer is None:
        raise ValueError("this model came without a tokenizer, so it reads no text; save one into its folder")
    return model, tokenizer


def use(opener: Callable[[str], Any]) -> None:
    """Let an application open the names that its views are given."""
    _opener[:] = [opener]
