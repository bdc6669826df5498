"""Files of results that a recipe makes one after another: who begins it again goes on where it stopped."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")


def write_missing(out: Path, makers: Mapping[str, Callable[[R], dict[str, Any]]], recipe: R) -> None:
    """Make the JSON files that a folder does not have yet.

    Args:
        out: the folder; made if it is not there.
        makers: name of each file -> what it holds, of the recipe.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name, make in makers.items():
        if not (out / name).is_file():
            (out / name).write_text(json.dumps(make(recipe), separators=(",", ":")) + "\n", "utf-8")
