"""The command line that makes a view again."""

import json
from typing import Any

from tfcore.commands.calls import as_json, given, name_of
from tfcore.views.sources import File
from tfcore.views.view import View


def typed(view: View) -> list[str]:
    """Its name, and an option for each argument that it was given."""
    # written together, so that no text is taken for an option
    return [name_of(view), *(f"--{one.name}={as_text(value)}" for one, value in given(view))]


def as_text(value: Any) -> str:
    """A value as somebody types it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return value
    return value.path if isinstance(value, File) else json.dumps(as_json(value))
