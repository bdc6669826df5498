"""The grammar of a page: title, claim, text with Run, Try this, figure, what to see, question, how it is computed."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from streamlit.proto.LabelVisibility_pb2 import LabelVisibility
from streamlit.testing.v1 import AppTest

from tests.pages.experiments_to_visit import LIVE_PAGES
from tests.pages.figures import FRAME, kind_of

PICTURES = ("token_chips",)  # besides all that are our own scripts
DRAWER = "How it is computed"
SETTINGS = ("slider", "select_slider", "selectbox", "segmented_control", "pills", "button_group", "toggle", "checkbox")
IN_SIGHT = 3
OF_TEXT = ("model", "model2", "of", "vit", "asr")  # keys of choices of a model, or of what is read of it
FOLDED = ("popover", "expander", "expandable")
# A list of terms, a conversation, and trainings that have just begun.
WITHOUT_PICTURE = {
    "reference/glossary/page.py",
    "start/lessons/page.py",
    "reference/teachers/page.py",
    "inside/induction/page.py",
    *LIVE_PAGES,
}


def faults(test: AppTest, file: str) -> list[str]:
    """What of a page stands where it should not."""
    nodes = [_named(node) for node in test.main]
    nodes = [node for node in nodes if node[0] not in ("main", "flex_container", "column", "empty", "transparent")]
    nodes = [node for node in nodes if node[0] != "bidi_component" or node[1] not in FRAME]
    found = [
        f"the box “{name}” has no Run beside it"
        for (kind, name), (_, after) in zip(nodes, [*nodes[1:], ("", "")], strict=True)
        if kind == "text_area" and after != "Run"
    ]
    if nodes[0][0] != "title" or [kind for kind, _ in nodes].index("markdown") > 2:
        found.append("it does not begin with a title and a claim")
    order = {
        "Try this": _first(nodes, "caption", "Try this:", "Rounds to try:"),
        "a picture": _first(nodes, "picture"),
        "what to see": _first(nodes, "markdown", "**What to see.**"),
        "a question": _last(nodes, "markdown", "**A question.**"),
        DRAWER: _last(nodes, "expander", DRAWER),
    }
    if order["a picture"] is None and file in WITHOUT_PICTURE:
        del order["a picture"]
    tabs = {tab.label for tab in test.tabs}
    if not test.info:  # a page that says why there is nothing to see has less
        found += [f"there is no {name}" for name, place in order.items() if place is None]
        found += [] if "Code" in tabs else ["no code is shown"]
    places = [(place, name) for name, place in order.items() if place is not None]
    found += [f"{two} comes before {one}" for (a, one), (b, two) in pairwise(places) if b < a]
    found += [
        f"{len(names)} controls are in sight under “{part}”: {', '.join(names)}"
        for part, names in in_sight(test).items()
        if len(names) > IN_SIGHT
    ]
    formula, picture = _first(nodes, "latex"), order.get("a picture")
    if formula is not None and picture is not None and formula < picture:
        found.append("a formula comes before the picture")
    return found


def in_sight(test: AppTest) -> dict[str, list[str]]:
    """Names of the controls that need no click to be seen, by the heading that they stand under.

    The model, the one beside it and the sections of a page belong to the text that is read, and are not counted; a row
    of switches or sliders that differ by their number ("Score x1", "Score x2") is one control.
    """
    parts: dict[str, list[str]] = {"": []}
    for node, folded in _leaves(test.main):
        kind = getattr(node, "type", "")
        if kind in ("header", "subheader"):
            parts.setdefault(node.value, [])
        elif kind in SETTINGS and not folded and node.key not in OF_TEXT and not _nameless(node):
            last, name = parts[list(parts)[-1]], node.label.rstrip("0123456789") or node.key
            last += [name] if name not in last else []
    return parts


def _leaves(node: Any, folded: bool = False) -> Iterator[tuple[Any, bool]]:
    """Each element under a node, and whether it is hidden until something is opened."""
    children = getattr(node, "children", None)
    if children is None:
        yield node, folded
        return
    for child in children.values():
        yield from _leaves(child, folded or getattr(node, "type", "") in FOLDED)


def _nameless(node: Any) -> bool:
    """A choice whose label is for screen readers alone: the sections of a page."""
    collapsed = node.proto.DESCRIPTOR.fields_by_name.get("label_visibility")
    return collapsed is not None and node.proto.label_visibility.value == LabelVisibility.COLLAPSED


def _named(node: Any) -> tuple[str, str]:
    """Kind and words of an element; pictures of all kinds are pictures."""
    kind = getattr(node, "type", "")
    if kind == "bidi_component":
        name = kind_of(node.proto)
        return ("picture", name) if name.startswith("tf_") or name in PICTURES else (kind, name)
    if kind in ("markdown", "caption", "title", "latex"):
        return kind, node.value
    return kind, getattr(node, "label", "") or ""


def _first(nodes: list[tuple[str, str]], kind: str, *begins: str) -> int | None:
    return next((i for i, (k, name) in enumerate(nodes) if k == kind and name.startswith(begins or ("",))), None)


def _last(nodes: list[tuple[str, str]], kind: str, begins: str) -> int | None:
    places = [i for i, (k, name) in enumerate(nodes) if k == kind and name.startswith(begins)]
    return places[-1] if places else None
