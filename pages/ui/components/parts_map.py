"""A model drawn as boxes from its text to its prediction; each box is a link to the page about that part.

See parts_map.js for the browser's half. Boxes are real links: they can be reached with Tab, opened in a new window and
read by a screen reader.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pages.ui import keys
from pages.ui.components import assets
from pages.ui.components.player import target

_component = assets.component("tf_parts_map", "parts_map.js")


@dataclass(frozen=True, slots=True)
class Part:
    """One box.

    Args:
        label: what the part is called.
        note: a few words under it, such as its shape.
        role: its colour role.
        url: address of its page, after the root.
        marked: stands out.
        across: "gives" or "takes", of the two boxes between which an arrow leads from one stack to the other.
    """

    label: str
    note: str
    role: str
    url: str
    marked: bool = False
    across: Literal["", "gives", "takes"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows of boxes from top to bottom, in a frame where they have a title; boxes of one row stand side by side."""

    rows: tuple[tuple[Part, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Groups from top to bottom: what one text runs through."""

    title: str
    groups: tuple[Group, ...]


def parts_map(key: str, stacks: Sequence[Stack], *, label: str, on_open: Callable[[str], None]) -> None:
    """Draw the map.

    Args:
        stacks: side by side; where there are two, the first is what the second looks at.
        label: what the map shows, for screen readers.
        on_open: told the url of the part that was clicked, while the page runs; it may switch the page.
    """
    urls = [part.url for stack in stacks for group in stack.groups for row in group.rows for part in row]
    data = {"stacks": [asdict(stack) for stack in stacks], "label": label}
    chosen = _component(key=keys.own("parts_map", key), data=data, on_to_change=lambda: None)
    if (to := target(chosen, 0, len(urls) - 1)) is not None:
        on_open(urls[to])
