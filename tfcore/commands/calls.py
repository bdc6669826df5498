"""The call that made a view as JSON says it, and back: a name and arguments, from which a program is written."""

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from tfcore.commands import catalogue
from tfcore.commands.catalogue import Option
from tfcore.commands.values import read
from tfcore.views.sources import File
from tfcore.views.view import Made, View


def name_of(view: View) -> str:
    """SUBJECT.NAME of the function that made a view.

    Raises:
        ValueError: no function of a subject made it.
    """
    function = view.made.function if view.made else None
    parts = function.__module__.split(".") if function else []
    if function is None or parts[:2] != ["tfcore", "views"] or len(parts) < 4:
        raise ValueError(f"the view {view.key!r} was made by no function of tfcore.views")
    return f"{parts[3]}.{function.__name__}"


def given(view: View) -> list[tuple[Option, Any]]:
    """The options of a view's function that it was given, with their values.

    Raises:
        ValueError: see name_of.
    """
    options = catalogue.options(catalogue.drawing(name_of(view)))
    arguments: Mapping[str, Any] = view.made.arguments if view.made else {}
    there = [one for one in options if one.parameter in arguments]
    return [
        (one, getattr(arguments[one.parameter], one.field) if one.field else arguments[one.parameter]) for one in there
    ]


def call(view: View) -> tuple[str, dict[str, Any]]:
    """The name of a view, and by option what JSON says of each argument that it was given. Of a text as a model reads
    it only what a call would have to say.

    Raises:
        ValueError: see name_of.
    """
    first, said = dict[str, Any](), dict[str, Any]()
    for one, value in given(view):
        if not one.field or value != first.get(one.field, one.default):
            said[one.name] = as_json(value)
        if one.field:
            first.setdefault(one.field, value)
    return name_of(view), said


def made(name: str, said: Mapping[str, Any]) -> Made:
    """What `call` said, read by the types of the function, which is not called.

    Args:
        said: parts of JSON by option; anybody may have written them.

    Raises:
        ValueError: in a sentence, that it is no call of a view.
    """
    function = catalogue.drawing(name)
    options = {one.name: one for one in catalogue.options(function)}
    if unknown := said.keys() - options.keys():
        raise ValueError(f"{min(unknown)!r} is no argument of {name}; there are {', '.join(options)}")
    if missing := [one.name for one in options.values() if one.default is catalogue.REQUIRED and one.name not in said]:
        raise ValueError(f"{name} needs {', '.join(missing)}")
    values = catalogue.together((one, value_of(one, said[one.name])) for one in options.values() if one.name in said)
    return Made(function, {one: values[one] for one in inspect.signature(function).parameters if one in values})


def value_of(option: Option, said: Any) -> Any:
    """The value of an option. A model that was in memory alone has no name: a program says "supply your own".

    Raises:
        ValueError: in a sentence, that it says none.
    """
    if said is None and option.is_model:
        return None
    try:
        return read(said, option.hint)
    except ValueError as problem:
        raise ValueError(f"{option.name}: {problem}") from problem


def as_json(value: Any) -> Any:
    """A value as a part of JSON; of records the fields that are not at their default."""
    if isinstance(value, File):
        return value.path
    if is_dataclass(value):
        return {
            one.name: as_json(getattr(value, one.name)) for one in fields(value) if one.init and _is_set(value, one)
        }
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [as_json(one) for one in value]
    return value.item() if hasattr(value, "item") else value


def _is_set(record: Any, field: Any) -> bool:
    value = getattr(record, field.name)
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return default is MISSING or value != default
