"""The command line that makes a view again."""

import json
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from tfcore.commands import catalogue
from tfcore.views.sources import File
from tfcore.views.view import View


def name_of(view: View) -> str:
    """SUBJECT.NAME of the function that made a view."""
    function = view.made.function
    return f"{function.__module__.split('.')[3]}.{function.__name__}"


def typed(view: View) -> list[str]:
    """Its name, and an option for each argument that it was given."""
    name, given = name_of(view), view.made.arguments
    options = catalogue.options(catalogue.drawing(name))
    there = [one for one in options if one.parameter in given]
    values = [getattr(given[one.parameter], one.field) if one.field else given[one.parameter] for one in there]
    # written together, so that no text is taken for an option
    return [name, *(f"--{one.name}={as_text(value)}" for one, value in zip(there, values, strict=True))]


def as_text(value: Any) -> str:
    """A value as somebody types it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return value
    return value.path if isinstance(value, File) else json.dumps(as_json(value))


def as_json(value: Any) -> Any:
    """A value as a part of JSON; of records the fields that are not at their default."""
    if is_dataclass(value):
        return {
            one.name: as_json(getattr(value, one.name)) for one in fields(value) if one.init and _is_set(value, one)
        }
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [as_json(one) for one in value]
    return value.item() if hasattr(value, "item") else value


def _is_set(record: Any, field: Any) -> bool:
    value = getattr(record, field.name)
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return default is MISSING or value != default
