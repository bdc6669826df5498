"""Values of the arguments of views, read from what somebody types, by the types that the views' signatures give.

    read("3, 4", tuple[int, ...])              (3, 4)
    read("window=8", MaskConfig)               a record, by the names of its fields
    read('{"window": 8}', MaskConfig)          the same as JSON, which says any value

A part of JSON is read by the same rules as a text.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from math import isnan
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tfcore.config import ModelConfig
from tfcore.measures.token_text import shorten
from tfcore.presets import PRESETS
from tfcore.views.sources import File, Source

TYPES = {int: "INT", float: "NUMBER", bool: "yes|no", str: "TEXT", NoneType: "none"}  # as they are shown
FIRST = {NoneType: 0, int: 1, str: 3}
SEVERAL = (tuple, Sequence, Collection)
WORDS = {"yes": True, "true": True, "no": False, "false": False}
LONGEST = 60  # signs of a value in a sentence


def read(said: Any, hint: Any) -> Any:
    """The value of a type that a text says, or a part of JSON.

    Raises:
        ValueError: it says none; the message is a sentence without its beginning, as in "'x' is no INT".
    """
    kind = get_origin(hint)
    if hint == Source:
        return read(said, str)
    if kind in (Union, UnionType):
        return _any_of(said, hint)
    if kind is Literal:
        return _one_of(said, hint)
    if hint in TYPES:
        return _scalar(said, hint)
    if hint is File and isinstance(said, str):
        return File(said)
    if hint is ModelConfig and isinstance(said, str) and said in PRESETS:
        return PRESETS[said]()
    if is_dataclass(hint):
        return _record(said, hint)
    if kind in SEVERAL:
        return _several(said, hint)
    if kind is Mapping:
        name, value = get_args(hint)
        return {read(one, name): read(other, value) for one, other in _named(said, hint).items()}
    raise ValueError(f"nothing that is typed says a {hint}")


def type_name(hint: Any) -> str:
    """A type in a few signs, for a list of arguments."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint in TYPES or hint == Source:
        return TYPES.get(hint, "MODEL")
    if kind in (Union, UnionType):
        return "|".join(map(type_name, parts))
    if kind is Literal:
        return "|".join(map(str, parts))
    if kind in SEVERAL:
        each = [part for part in parts if part is not ...]
        return ",".join(map(type_name, each)) + (",..." if kind is not tuple or ... in parts else "")
    if kind is Mapping:
        return f"NAME={type_name(parts[1])},..."
    return "FILE" if hint is File else hint.__name__.upper()


def record_help(hint: Any) -> str:
    """Of a type that has records in it, what the fields of each are; empty of others."""
    if is_dataclass(hint) and hint is not File:
        types = get_type_hints(hint)
        said = ", ".join(f"{one.name}={type_name(types[one.name])}" for one in fields(hint) if one.init)
        return f"{type_name(hint)}: {said}" + (f"; or one of {', '.join(PRESETS)}" if hint is ModelConfig else "")
    return "; ".join(filter(None, map(record_help, get_args(hint))))


def _scalar(said: Any, hint: type) -> Any:
    refusal = ValueError(f"{_shown(said)} is no {TYPES[hint]}")
    if hint is str:
        if not isinstance(said, str):
            raise refusal
        return said
    if hint is bool or hint is NoneType:
        values: dict[Any, bool | None] = (
            {**WORDS, True: True, False: False} if hint is bool else {"none": None, None: None}
        )
        if type(said) in (int, float, list, dict) or said not in values:
            raise refusal
        return values[said]
    if isinstance(said, bool) or not isinstance(said, str | int | float):
        raise refusal
    try:
        value = hint(said)
    except (ValueError, OverflowError):
        raise refusal from None
    if isnan(value) or (isinstance(said, float) and value != said):
        raise refusal
    return value


def _any_of(said: Any, hint: Any) -> Any:
    """The first type that takes it: nothing, whole numbers, others, texts. The order in which a hint names its members
    means nothing: Python takes one union for another of the same members."""
    refused = []
    for part in sorted(get_args(hint), key=lambda part: FIRST.get(part, 2)):
        try:
            return read(said, part)
        except ValueError as problem:
            refused.append((part, problem))
    records = [problem for part, problem in refused if is_dataclass(part) and part is not File and _is_named(said)]
    raise records[0] if records else ValueError(f"{_shown(said)} is no {type_name(hint)}")


def _one_of(said: Any, hint: Any) -> Any:
    values = {str(one): one for one in get_args(hint)}
    if str(said) not in values:
        raise ValueError(f"{_shown(said)} is none of {', '.join(values)}")
    return values[str(said)]


def _several(said: Any, hint: Any) -> tuple[Any, ...]:
    """The values of a tuple or a sequence, which a text divides by commas."""
    parts, values = get_args(hint), said
    if isinstance(said, str):
        values = _json(said) if said.lstrip().startswith("[") else [one.strip() for one in said.split(",") if said]
    if not isinstance(values, list):
        raise ValueError(f"{_shown(said)} is no {type_name(hint)}")
    if get_origin(hint) is tuple and ... not in parts:
        if len(values) != len(parts):
            raise ValueError(f"{_shown(said)} has {len(values)} values, and these are {len(parts)}: {type_name(hint)}")
        return tuple(read(one, part) for one, part in zip(values, parts, strict=True))
    return tuple(read(one, parts[0]) for one in values)


def _record(said: Any, hint: Any) -> Any:
    """A record of a dataclass, whose own checks may refuse it."""
    types, values = get_type_hints(hint), _named(said, hint)
    known = {one.name: one for one in fields(hint) if one.init}
    if unknown := [name for name in values if name not in known]:
        raise ValueError(f"{unknown[0]!r} is no field of {type_name(hint)}; there are {', '.join(known)}")
    needed = [one for one in known.values() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [one.name for one in needed if one.name not in values]:
        raise ValueError(f"{type_name(hint)} needs {', '.join(missing)}, as in {missing[0]}=...")
    found = {}
    for name, value in values.items():
        try:
            found[name] = read(value, types[name])
        except ValueError as problem:
            raise ValueError(f"in {name}, {problem}") from problem
    return hint(**found)


def _is_named(said: Any) -> bool:
    """Whether it could be a record at all."""
    return isinstance(said, dict) or (isinstance(said, str) and ("=" in said or said.lstrip().startswith("{")))


def _named(said: Any, hint: Any) -> dict[str, Any]:
    """The values of a record by name: JSON, or name=value, divided by commas."""
    if isinstance(said, str) and said.lstrip().startswith("{"):
        said = _json(said)
    elif isinstance(said, str):
        parts = [one.partition("=") for one in said.split(",") if said.strip()]
        if all(equals for _, equals, _ in parts):
            said = {name.strip(): value.strip() for name, _, value in parts}
    if not isinstance(said, dict):
        raise ValueError(f"{_shown(said)} is no {type_name(hint)}; write it as name=value,name=value, or as JSON")
    return said


def _json(said: str) -> Any:
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{_shown(said)} is no JSON: {problem}") from problem


def _shown(said: Any) -> str:
    return shorten(repr(said) if isinstance(said, str) else json.dumps(said), LONGEST)
