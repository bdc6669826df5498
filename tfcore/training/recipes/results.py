"""Files of results that a recipe makes one after another: who begins it again goes on where it stopped."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tfcore.files import as_a_whole

R = TypeVar("R")


def write_missing(out: Path, makers: Mapping[str, Callable[[R], dict[str, Any]]], recipe: R) -> None:
    """Make the JSON files that a folder does not have yet.

    Args:
        out: the folder; made if it is not there.
        makers: name of each file -> what it holds, of the recipe.
    """
    for name, make in makers.items():
        made_once(out / name, lambda make=make: make(recipe))  # type: ignore[misc]


def made_once(file: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a JSON file holds; where it is not there, it is made and written first. A file is there whole or not at all,
    whenever its maker is stopped."""
    if not file.is_file():
        said = json.dumps(make(), separators=(",", ":"))
        with as_a_whole(file) as beside:
            beside.write_text(said + "\n", "utf-8")
    made: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return made
