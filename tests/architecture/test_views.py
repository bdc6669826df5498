"""Each view is shown by a page: what nobody sees is no view. Its table, which is made when it is asked for, keeps no
model alive until then."""

import ast
import re

from tests.architecture.sources import broken, files

# of an opened model and its tokenizer, how the model gets a name
OPENED = re.compile(r"\(?(\w+), \w+\)? = opened\([^()]*\)|(\w+) = opened\([^()]*\)\[0\]")


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


def kept_by_tables(source: str) -> list[str]:
    """The tables made later that read a model: one that their function opened, or was given as one."""
    found = []
    for function in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        arguments = [*function.args.args, *function.args.kwonlyargs]
        models = {one.arg for one in arguments if one.annotation and "Transformer" in ast.unparse(one.annotation)}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and (name := OPENED.fullmatch(ast.unparse(node))):
                models.add(name[1] or name[2])
        for node in ast.walk(function):
            if isinstance(node, ast.keyword) and node.arg == "table":
                read = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
                found += [f"{function.name}: {name}" for name in sorted(read & models)]
    return found


def test_no_table_keeps_a_model():
    assert broken(kept_by_tables, files("tfcore/views")) == {}


def test_a_table_that_keeps_a_model_is_found():
    assert kept_by_tables("def a(m: Transformer):\n return View(table=lambda: frame(m.config))") == ["a: m"]
    source = "def a(r):\n m, t = opened(r.model)\n c = m.config\n return View(table=lambda: {0}(t, c))"
    assert kept_by_tables(source.format("frame")) == []
    assert kept_by_tables(source.format("m.frame")) == ["a: m"]
    assert kept_by_tables("def a(r):\n m = opened(r)[0]\n return View(table=lambda: m)") == ["a: m"]
