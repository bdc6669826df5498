"""The numbers in tables and constants are those that were recorded: no other test can say of a published figure, an
example or a default that it is another now. Words are not recorded, nor is what is computed from a model.

TFCORE_RECORD=yes python -m pytest tests/project/test_constants.py writes the record anew.
"""

import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from os import environ
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.sources import ROOT, module_name
from tests.pages.snapshot import ANEW

RECORD = Path(__file__).with_name("constants.json")
MOST = 400  # numbers of a constant: more are data
PATHS = [
    path
    for folder in ("tfcore/measures", "tfcore/training", "tfcore/views", "pages")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name not in ("__init__.py", "__main__.py", "draw.py", "facts.py")
    and path.parent.name != "draw"
    and ROOT / "pages" / "ui" not in path.parents
]
MODULES = [module_name(path) for path in PATHS if path.parent != ROOT / "pages"]


def numbers(value: Any) -> Iterator[float]:
    """The numbers in a value, in their order."""
    if isinstance(value, bool | int | float):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from numbers(pair)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from numbers(part)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from numbers([getattr(value, field.name) for field in dataclasses.fields(value)])


BETWEEN = re.compile(r"must be between ([-+.,\de]*\d) and ([-+.,\de]*\d)")


def limits(kind: type) -> dict[str, list[float]]:
    """Of each field that has a number: between which ones it must be, as one that is far too large is told."""
    found = {}
    for field in dataclasses.fields(kind):
        if type(field.default) in (int, float):
            refusal = ""
            try:
                kind(**{field.name: type(field.default)(10**12)})
            except (TypeError, ValueError) as problem:  # TypeError: other fields have no default
                refusal = str(problem)
            if said := BETWEEN.search(refusal):
                found[f"{kind.__name__}.{field.name} between"] = [float(one.replace(",", "")) for one in said.groups()]
    return found


def begins_empty(value: ast.expr | None) -> bool:
    """Whether nothing is in a container where it is written: what is there later, another test may have put there."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]):
            return True
        case ast.Call(args=[], func=made) if not [one for one in value.keywords if one.arg != "maxlen"]:
            return ast.unparse(made).partition("[")[0] in ("dict", "list", "OrderedDict", "deque")
    return False


def constants(name: str) -> dict[str, list[float]]:
    """Of each constant of a module, and of each default of its dataclasses and functions, the numbers in it; and the
    limits of these fields."""
    if name.endswith(".page"):
        return written(ROOT / f"{name.replace('.', '/')}.py")
    module = import_module(name)
    found: dict[str, Any] = {}
    for node in ast.parse(Path(module.__file__ or "").read_text("utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and not begins_empty(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            found |= {one: getattr(module, one) for one in names if one.isupper()}
        elif isinstance(node, ast.ClassDef) and dataclasses.is_dataclass(kind := getattr(module, node.name)):
            found |= {f"{node.name}.{field.name}": field.default for field in dataclasses.fields(kind)} | limits(kind)
        elif isinstance(node, ast.FunctionDef):
            given = inspect.signature(getattr(module, node.name)).parameters.values()
            found |= {f"{node.name}.{one.name}": one.default for one in given}
    listed = {key: list(numbers(value)) for key, value in found.items()}
    return {key: values for key, values in listed.items() if 0 < len(values) <= MOST}


def written(path: Path) -> dict[str, list[float]]:
    """The same of a page, which runs when it is imported: the numbers that are written there."""
    found = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            parts = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            found[node.targets[0].id] = list(numbers(parts))
    return {key: values for key, values in found.items() if values}


def approx(values: list[float]) -> Any:
    """The same numbers on any processor: whole ones below 10^12 are equal."""
    return pytest.approx(values, rel=1e-12, abs=0)


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, list[float]]]:
    if ANEW in environ:
        found = {name: values for name in MODULES if (values := constants(name))}
        lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(values)}" for name, values in found.items())
        RECORD.write_text(f"{{\n{lines}\n}}\n", "utf-8")
    return dict(json.loads(RECORD.read_text("utf-8")))


@pytest.mark.parametrize("name", MODULES)
def test_its_constants_are_as_recorded(recorded, name):
    """The last digits of a power are a processor's."""
    known, found = recorded.get(name, {}), constants(name)
    assert {key: approx(values) for key, values in known.items()} == {key: found.get(key) for key in known}


def test_all_are_recorded(recorded):
    """TFCORE_RECORD=yes writes those that are new, whose difference is then looked at."""
    assert {name: list(values) for name in MODULES if (values := constants(name))} == {
        name: list(values) for name, values in recorded.items()
    }


def test_words_are_no_numbers_and_what_is_nested_is_found():
    assert list(numbers({"a": (1, [2.5, True]), 3: "4"})) == [1, 2.5, True, 3]


def test_only_the_last_digits_may_differ():
    assert approx([1.7782794100389232e17, 400, 1e-12]) == [1.778279410038923e17, 400, 1e-12]
    assert approx([1.7782794100389232e17, 400, 1e-12]) != [1.7782795e17, 400, 1e-12]
    assert approx([7_000_000_000]) != [7_000_000_001]
    assert approx([2e-12]) != [1e-12]
    assert approx([1]) != [1, 2]


def test_what_is_filled_later_is_no_constant():
    empty = ("{}", "[]", "dict()", "list[int]()", "OrderedDict()", "deque(maxlen=3)")
    assert all(begins_empty(ast.parse(one, mode="eval").body) for one in empty)
    assert not any(begins_empty(ast.parse(one, mode="eval").body) for one in ("{1: 2}", "[1]", "limits()", "dict(a=1)"))
