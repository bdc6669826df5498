"""A page calls its experiment: what it shows and what it gives away as a program are one computation."""

import ast
from pathlib import Path

from tests.architecture.sources import ROOT, module_name

EXPERIMENTS = sorted((ROOT / "pages").glob("*/*/experiments.py"))


def offered(source: str) -> set[str]:
    """The functions that return what a page shows."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if node.returns is not None and ast.unparse(node.returns) == "Shown"}


def called(source: str) -> set[str]:
    """What is called as `experiments.NAME(...)`, or handed on as `experiments.NAME` to be called."""
    tree = ast.parse(source)
    given = {  # to page.experiment, which writes the program and computes nothing
        id(node.args[skip])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        for name, skip in (("experiment", 0), ("experiment_of", 1))
        if node.func.attr == name and len(node.args) > skip
    }
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and id(node) not in given]
    return {node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == "experiments"}


def only_given_away(path: Path) -> set[str]:
    """The experiments in a file that no other file of its page calls."""
    parts = [part for part in path.parent.glob("*.py") if part != path]
    return offered(path.read_text("utf-8")).difference(*(called(part.read_text("utf-8")) for part in parts))


def test_a_page_calls_its_experiments():
    assert {module_name(path): found for path in EXPERIMENTS if (found := only_given_away(path))} == {}


def test_an_experiment_that_is_only_given_away_is_found():
    assert offered("def a() -> Shown: ...\ndef b() -> int: ...") == {"a"}
    source = "page.experiment(experiments.a)\npage.experiment_of('x', experiments.b)\nexperiments.c()"
    assert called(source) == {"c"}
