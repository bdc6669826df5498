"""Trainings and measurements that ship: what a page shows of its usual settings before anything is made anew.

`python -m tools.stored_runs` makes them; each subject's stand in a file beside its views.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from numpy import ndarray

Settings = TypeVar("Settings")
Item = TypeVar("Item")
DIGITS = 7  # that count, as float32 has them


def written(runs: Mapping[Any, Sequence[Any]]) -> str:
    """JSON of runs: settings, and items in their order, both dataclasses of numbers, words and arrays."""
    kept = [{"settings": asdict(one), "items": [_plain(asdict(item)) for item in items]} for one, items in runs.items()]
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False) + "\n"


def read(
    file: Path, settings: Callable[..., Settings], item: Callable[..., Item], of_list: Callable[[list[Any]], Any]
) -> dict[Settings, tuple[Item, ...]]:
    """The runs that `written` wrote; none where there is no file.

    Args:
        of_list: makes of each list among an item's values what the item has there.
    """
    if not file.is_file():
        return {}

    def made(values: Mapping[str, Any]) -> Item:
        return item(**{name: of_list(value) if isinstance(value, list) else value for name, value in values.items()})

    kept = json.loads(file.read_text("utf-8"))
    return {settings(**one["settings"]): tuple(made(values) for values in one["items"]) for one in kept}


def tuples(value: list[Any]) -> tuple[Any, ...]:
    """A list as a tuple, and so the lists in it."""
    return tuple(tuples(inner) if isinstance(inner, list) else inner for inner in value)


def _plain(value: Any) -> Any:
    if isinstance(value, ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
