"""Checks that all configs share: each refuses in one sentence that names the field, its value and what would do."""

import math
from typing import Any, get_args


def check_whole(config: Any, *, optional: bool = False, **limits: tuple[int, int]) -> None:
    """Fields that must be whole numbers from low to high."""
    for name, (low, high) in limits.items():
        value = getattr(config, name)
        if value is None and optional:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name}={value!r} must be a whole number")
        if not low <= value <= high:
            raise ValueError(f"{name}={value} must be between {low} and {high:,}{_or_none(optional)}")


def check_place(**places: tuple[int, int]) -> None:
    """Places among so many, counted from 0."""
    for name, (place, count) in places.items():
        if not 0 <= place < count:
            raise ValueError(f"{name}={place} must be between 0 and {count - 1}")


def check_number(config: Any, *, optional: bool = False, **limits: tuple[float, float]) -> None:
    """Fields that must be finite numbers from low to high."""
    for name, (low, high) in limits.items():
        value = getattr(config, name)
        if value is None and optional:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError(f"{name}={value!r} must be a number")
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(f"{name}={value} must be between {low:,} and {high:,}{_or_none(optional)}")


def check_flag(config: Any, *names: str, optional: bool = False) -> None:
    """Fields that must be true or false."""
    for name in names:
        value = getattr(config, name)
        if not (isinstance(value, bool) or (value is None and optional)):
            raise ValueError(f"{name}={value!r} must be true or false{_or_none(optional)}")


def check_choice(config: Any, *, optional: bool = False, **literals: Any) -> None:
    """Fields that must be one of the values of a Literal."""
    for name, literal in literals.items():
        value = getattr(config, name)
        if value not in (choices := get_args(literal)) and not (value is None and optional):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(choices)}{_or_none(optional)}")


def check_part(config: Any, **kinds: type) -> None:
    """Fields that must be None or a config of their own."""
    for name, kind in kinds.items():
        value = getattr(config, name)
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{name}={value!r} must be {kind.__name__} or None")


def _or_none(optional: bool) -> str:
    return ", or None" if optional else ""
