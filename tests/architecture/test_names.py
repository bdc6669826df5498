"""A class name stands for one thing: whoever looks for a term finds one class of that name."""

import ast
from collections.abc import Mapping

from tests.architecture.sources import broken, files

SMALL = "tfcore/minimal.py is the library in small: its parts have the names of those they stand for"
TWICE = {
    "Attention": SMALL,
    "Block": SMALL,
    "FeedForward": SMALL,
    "Output": "programs that were saved import the explained logit of an attribution graph by this name",
}


def classes(source: str) -> list[str]:
    """The names of the classes of a module, the private ones left out."""
    found = [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    return [name for name in found if not name.startswith("_")]


def shared(names: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The names that several classes have, each with the modules of these.

    Args:
        names: module -> names of its classes.
    """
    places: dict[str, list[str]] = {}
    for module, found in names.items():
        for name in found:
            places.setdefault(name, []).append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def test_a_class_name_stands_for_one_thing():
    found = shared(broken(classes, files("tfcore", "pages")))
    assert {name: modules for name, modules in found.items() if name not in TWICE} == {}
    assert set(TWICE) <= set(found), "an exception that is none"


def test_a_name_that_stands_twice_is_found():
    source = "class Look:\n    pass\nclass _Own:\n    class Inner: ..."
    assert classes(source) == ["Look", "Inner"]
    assert shared({"one": ["Look", "Pair"], "other": ["Look"]}) == {"Look": ["one", "other"]}
