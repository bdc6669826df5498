"""A notebook of what a browser says is on its shelf: programs that we wrote, whoever wrote what is said."""

import ast
import json
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui import text
from pages.ui.server import shelf
from tests.hostile import MARKUP
from tfcore.commands import calls
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.views import programs
from tfcore.views.foundations import attention, heads, masks
from tfcore.views.sources import Reading

HOSTILE = (*MARKUP, '"""\nimport os\n', "'\\", "\u202e\u2028\x00", "](http://a.test) {x}")
PORTRAIT = heads.portrait(Reading("stories", "One two three", hide_sink=True), 0, 1, 2)
STEPS = attention.temperature((1.0, 2.5), 0.7)
NAMES = ("heads.portrait", "attention.temperature", "heads", "heads.", ".", "views.view", "masks.allowed", "os.system")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=9,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["model", "text", "layer", "head", "token", "scores", "temperature", "mask", "hide-sink"])
    | st.text(max_size=9),
    JSON,
    max_size=7,
)


def stop(view: Any, **more: Any) -> dict[str, Any]:
    return {"title": view.title, "note": "", "address": "http://a.test/heads?v=4", "call": calls.call(view), **more}


def notebook(*stops: Any, title: Any = "Mine") -> dict[str, Any]:
    written = shelf.notebook(json.dumps({"title": title, "stops": stops}).encode())
    nbformat.validate(nbformat.reads(written, as_version=4))
    return json.loads(written)


def cells(book: dict[str, Any], kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind]


def test_each_view_has_its_words_and_its_own_program():
    book = notebook(stop(PORTRAIT, note="Look at *this*.\nAnd this."), stop(STEPS, title="$x$ [a](b)"))
    about, first, second = cells(book, "markdown")
    assert about.startswith("# Mine\n")
    assert first == (
        f"## {text.escape(PORTRAIT.title)}\n\nLook at \\*this\\*\\.  \nAnd this\\.\n\n[Open this view](http://a.test/heads?v=4)"
    )
    assert second.startswith(r"## \$x\$ \[a\]\(b\)")
    for code, view in zip(cells(book, "code"), (PORTRAIT, STEPS), strict=True):
        parts = programs.program(view)
        assert code == f"{parts.imports}\n\n{parts.call}\nprint(shown)\nshown"


def test_what_a_notebook_computes_is_what_was_pinned():
    names: dict[str, Any] = {}
    exec(cells(notebook(stop(PORTRAIT)), "code")[0], names)
    assert str(names["shown"]) == str(PORTRAIT)


def checked_code(code: str) -> None:
    """Imports from tfcore, and one call whose arguments are literals or records of it, all of which it imports."""
    tree = ast.parse(code)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(node.module and node.module.startswith("tfcore.") for node in imports)
    known = {alias.name for node in imports for alias in node.names} | {"print", "float"}
    calling = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert all(isinstance(one, ast.Name) and one.id in known for one in calling)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Lambda | ast.Import)]


@given(st.sampled_from(NAMES) | st.text(max_size=20), ARGUMENTS, st.sampled_from(HOSTILE) | st.text(max_size=50))
def test_whatever_is_said_becomes_literals_or_is_refused_in_a_sentence(name, arguments, words):
    said = {"title": words, "note": words, "address": words, "call": [name, arguments]}
    try:
        book, refusal = notebook(said, title=words), ""
    except ValueError as problem:
        book, refusal = {"cells": []}, str(problem)
    assert not refusal or (refusal.startswith("View 1 is no view of this version (") and len(refusal) < 400)
    for code in cells(book, "code"):
        checked_code(code)


@pytest.mark.parametrize("typed", HOSTILE)
def test_a_hostile_text_is_a_literal(typed):
    name, said = calls.call(PORTRAIT)
    code = cells(notebook(stop(PORTRAIT, call=[name, {**said, "text": typed}])), "code")[0]
    checked_code(code)
    assert typed in [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]


REFUSED = {
    "nothing": (b"", "This is no shelf: it is not JSON with a title and stops."),
    "no JSON": (b"{", "This is no shelf: it is not JSON with a title and stops."),
    "deep JSON": (b"[" * 100_000, "This is no shelf: it is not JSON with a title and stops."),
    "no UTF-8": (b'{"title": "\xff"}', "This is no shelf: it is not JSON with a title and stops."),
    "no stops": (b'{"stops": {}}', "A notebook is made of 1 to 200 views."),
    "none": (b'{"stops": []}', "A notebook is made of 1 to 200 views."),
    "too many": (json.dumps({"stops": [1] * 201}).encode(), "A notebook is made of 1 to 200 views."),
    "no stop": (b'{"stops": [5]}', "View 1 does not say how it was made: open it and pin it again."),
    "no call": (b'{"stops": [{"call": ["a"]}]}', "View 1 does not say how it was made: open it and pin it again."),
    "an argument of its own": (
        json.dumps({"stops": [{"call": ["masks.allowed", {"code": "x"}]}]}).encode(),
        "View 1 is no view of this version ('code' is no argument of masks.allowed; there are ",
    ),
    "a missing one": (
        json.dumps({"stops": [{"call": ["attention.temperature", {}]}]}).encode(),
        "View 1 is no view of this version (attention.temperature needs scores, temperature): open it and pin it ",
    ),
}


@pytest.mark.parametrize(("body", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_shelf_is_refused_in_a_sentence(body, sentence):
    with pytest.raises(ValueError, match=r"\.$") as refused:
        shelf.notebook(body)
    assert str(refused.value).startswith(sentence)


def test_a_model_in_memory_has_no_name_and_a_second_text_its_own():
    said = {"model": None, "text": "a b", "layer": 0, "head": 0, "token": 0}
    assert "supply your own" in cells(notebook(stop(PORTRAIT, call=["heads.portrait", said])), "code")[0]


def test_a_record_is_said_by_what_is_not_at_its_default():
    view = masks.allowed("stories", "a b c", MaskConfig(window=2))
    assert calls.call(view)[1]["mask"] == {"window": 2}
    assert "MaskConfig(window=2)" in cells(notebook(stop(view)), "code")[0]
