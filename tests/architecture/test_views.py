"""Each view is shown by a page: what nobody sees is no view."""

import ast

from tests.architecture.sources import files


def views(source: str) -> set[str]:
    """The functions that return one."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return {one.name for one in functions if any(ast.unparse(mark) == "view" for mark in one.decorator_list)}


def shown(source: str) -> set[str]:
    """What is called as `views.NAME(...)`."""
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {call.attr for call in calls if isinstance(call, ast.Attribute) and ast.unparse(call.value) == "views"}


def test_each_view_is_shown_by_a_page():
    there = set[str]().union(*(views(path.read_text("utf-8")) for path in files("tfcore/views")))
    seen = set[str]().union(*(shown(path.read_text("utf-8")) for path in files("pages")))
    assert there
    assert there - seen == set()


def test_a_view_that_nobody_shows_is_found():
    assert views("@view\ndef a() -> View: ...\ndef b() -> View: ...") == {"a"}
    assert shown("views.a(1)\nother.b()\nviews.c") == {"a"}
