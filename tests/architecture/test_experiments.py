"""A page calls its experiment: what it shows and what it gives away as a program are one computation."""

import ast

import pytest

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


@pytest.mark.parametrize("path", EXPERIMENTS, ids=module_name)
def test_a_page_calls_its_experiments(path):
    parts = [part for part in path.parent.glob("*.py") if part != path]
    assert offered(path.read_text("utf-8")) <= set().union(*(called(part.read_text("utf-8")) for part in parts))


def test_an_experiment_that_is_only_given_away_is_found():
    assert offered("def a() -> Shown: ...\ndef b() -> int: ...") == {"a"}
    source = "page.experiment(experiments.a)\npage.experiment_of('x', experiments.b)\nexperiments.c()"
    assert called(source) == {"c"}
