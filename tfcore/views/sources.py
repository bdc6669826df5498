"""Where views get their models from: names and folders are loaded, and an application keeps them in its own way."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from tfcore.loading.checkpoints import load
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

Loaded: TypeAlias = tuple[Transformer, Tokenizer]
Source: TypeAlias = str | Loaded  # a name or a folder, as `tfcore.load` takes it; or what that returns

_opener: list[Callable[[str], Any]] = [lru_cache(maxsize=2)(load)]


def opened(source: Source) -> Loaded:
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
