"""Inputs of views: models, by a name or a folder that is loaded and that an application keeps in its own way; a text as
a model reads it; and files of one's own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from inspect import Parameter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tfcore.part_configs import Part

Content = TypeVar("Content")
SO_FAR = "so_far"  # argument of a view that a computation fills while it runs: what there is until now
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


def as_taken(
    parameters: Mapping[str, Parameter], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a view as its function takes them: `model, tokenizer` become the pair that `tfcore.load` returns,
    and a model with the text that follows it a Reading, where the function takes one.

    Args:
        parameters: of the function.
        args, kwargs: as somebody gave them; the fields of a Reading may be given by their names.

    Raises:
        ValueError: a model without its tokenizer or its text, or one that is not ours.
    """
    given, named, taken = list(args), dict(kwargs), list[Any]()
    for name, parameter in parameters.items():
        is_read = parameter.annotation is Reading
        by_name = not given and "model" in named and (is_read if name not in named else name == "model")
        if not given and not by_name:
            break
        value = named.pop("model") if by_name else given.pop(0)
        if _is_model(value):
            value = value, _next("tokenizer", given, named)
        if isinstance(value, tuple) and len(value) == 2 and _is_model(value[0]):
            _check_pair(*value)
            if parameter.annotation is str:
                raise ValueError("this view reads what is stored beside a model's weights; give it the model's name")
        if isinstance(value, Path) and parameter.annotation in (Reading, Source, str):
            value = str(value)
        if is_read and not isinstance(value, Reading):
            text = _next("text", given, named)
            if not isinstance(text, str):
                raise ValueError(f"after a model comes a text, and this is of type {type(text).__name__}")
            rest = {one.name: named.pop(one.name) for one in fields(Reading) if one.name in named.keys() - parameters}
            value = Reading(value, text, **rest)
        taken.append(value)
    return [*taken, *given], named


def _next(name: str, given: list[Any], named: dict[str, Any]) -> Any:
    """What follows a model: the next argument, or the one of that name."""
    if name in named:
        return named.pop(name)
    if not given:
        raise ValueError(f"after a model comes its {name}, as in portrait(model, tokenizer, text, ...)")
    return given.pop(0)


def _is_model(value: Any) -> bool:
    """Whether it is a model and no name of one."""
    return hasattr(value, "state_dict")


def _check_pair(model: Any, tokenizer: Any) -> None:
    """Refuse models of other libraries, and what is no tokenizer of ours."""
    if not hasattr(model, "config") or not hasattr(model.config, "architecture"):
        raise ValueError(
            f"a {type(model).__name__} is no model of tfcore; tfcore.from_transformers(model, tokenizer) makes one of "
            "a model of transformers"
        )
    if tokenizer is not None and not hasattr(tokenizer, "token_bytes"):
        raise ValueError(
            f"after a model comes its tokenizer, as tfcore.load returns both, and this is of type "
            f"{type(tokenizer).__name__}"
        )


def name_of(source: Source) -> str:
    """The name of a model in a sentence."""
    return source if isinstance(source, str) else "a model of your own"


def title_of(source: Source) -> str:
    """The same, a version of a model in words."""
    version = _version_of(source)
    return name_of(source) if version is None else str(version)


def in_memory(value: Any) -> bool:
    """Whether a value is a model with its tokenizer, and no name of one."""
    from torch import nn  # here, as below

    return isinstance(value, tuple) and any(isinstance(part, nn.Module) for part in value)


def _load(name: str) -> Any:
    from tfcore.loading.checkpoints import load  # here, because it imports torch, which a name need not wait for

    return load(name)


_opener: list[Callable[[str], Any]] = [lru_cache(maxsize=2)(_load)]


def opened(source: Source, pictures: bool = False) -> Any:
    """A model, or a version of one (tfcore.views.versions), and its tokenizer; nobody may change them.

    Args:
        pictures: whether it has to read pictures, and no text.

    Raises:
        ValueError: a model without a tokenizer, which reads no text; no version of a model.
    """
    if (version := _version_of(source)) is not None:
        from tfcore.views.versions import open_version  # here, as below

        return open_version(version, _opener[-1])
    model, tokenizer = _opener[-1](source) if isinstance(source, str) else source
    if tokenizer is None and not pictures:
        raise ValueError("this model came without a tokenizer, so it reads no text; save one into its folder")
    return model, tokenizer


def _version_of(source: Source) -> Any:
    """The version of a model that a name says, or None."""
    if not isinstance(source, str) or "@" not in source:
        return None
    from tfcore.views.versions import version_of  # here, as above

    return version_of(source)


def use(opener: Callable[[str], Any]) -> None:
    """Let an application open the names that its views are given."""
    _opener[:] = [opener]
