"""Every widget's key goes through one of two doors: controls.py for what the address says, keys.own for the others."""

import ast

import streamlit as st

from tests.architecture.sources import ROOT, broken, files

CONTROLS = ROOT / "pages" / "ui" / "controls.py"
NO_WIDGETS = {"container"}  # its key is a style's alone: the session knows nothing of it
COMPONENTS = "components/"


def past_the_door(source: str, kind_of_component: str = "", control: bool = False) -> list[int]:
    """Lines that give a widget of Streamlit, or a component, a key that is not made by `keys.own` for its kind.

    Args:
        control: whether a plain `key=key` is that of a control.
    """
    tree = ast.parse(source)
    made = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        kind, given = _keyed(call)
        if given is None or kind in NO_WIDGETS:
            continue
        if isinstance(given, ast.Name) and given.id in made:
            given = made[given.id]
        if not (_is_own(given, kind) or (control and ast.unparse(given) == "key")):
            found.append(call.lineno)
    return found


def _keyed(call: ast.Call) -> tuple[str, ast.expr | None]:
    """What a call draws, and the key that it is given; of a component "", for any kind."""
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "key"), None)
    if isinstance(call.func, ast.Name):
        return "", named if call.func.id.startswith("_") and call.func.id.strip("_").lower() in MADE else None
    if not isinstance(call.func, ast.Attribute) or ast.unparse(call.func.value) in ("controls", "models"):
        return "", None
    kind = call.func.attr
    if kind == "form" and call.args:
        return kind, call.args[0]
    return kind, named if hasattr(st, kind) else None


MADE = {"component", "chips", "copy", "player", "ring"}  # what the app calls its components


def _is_own(given: ast.expr, kind: str) -> bool:
    if not (isinstance(given, ast.Call) and ast.unparse(given.func) == "keys.own"):
        return False
    return not kind or ast.unparse(given.args[0]) == repr(kind)


def test_every_key_goes_through_a_door():
    others = [path for path in files("pages") if path != CONTROLS]
    assert broken(past_the_door, others) == {}
    assert past_the_door(CONTROLS.read_text("utf-8"), control=True) == []
