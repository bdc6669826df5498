"""Programs with old imports end in a sentence that names the new place, and the place is there."""

import sys
from importlib import import_module
from pkgutil import resolve_name

import pytest

import tfcore.measures
from tests.architecture.sources import is_module
from tfcore import moved

NAMED = [
    (old, new, name) for old, places in moved.NAMES.items() for new, names in places.items() for name in names.split()
]


def exists(place: str) -> bool:
    """Whether there is such a module, or a name in one."""
    try:
        resolve_name(place)
    except (AttributeError, ImportError):
        return False
    return True


def gone(statement: str) -> str:
    """What an import ends in."""
    with pytest.raises(ImportError) as found:
        exec(statement, {})
    return str(found.value)


def test_every_new_place_is_there():
    assert [new for new in moved.MODULES.values() if not exists(new)] == []
    assert [f"{new}.{name}" for _, new, name in NAMED if not exists(f"{new}.{name}")] == []


def test_no_old_module_is_back():
    assert [old for old in moved.MODULES if is_module(old)] == []
    assert [old for old in moved.NAMES if old not in moved.MODULES and not is_module(old)] == []
    assert is_module("tfcore.views.finding")


def test_a_place_that_is_not_there_is_found():
    assert not exists("tfcore.measures.wings")
    assert not exists("tfcore.views.inference.kv_cache.wings")
    assert exists("tfcore.views.inference.kv_cache.sizes")
    assert not exists("tfcore.measures.kv_bytes.wings")


@pytest.mark.parametrize("old", moved.MODULES)
def test_an_old_module_names_the_new_one(old):
    package, _, leaf = old.rpartition(".")
    said = gone(f"from {old} import anything")
    assert said.startswith(f"{old} has moved: import it from {moved.MODULES[old]}")
    assert gone(f"import {old}") == gone(f"from {package} import {leaf}") == said
    assert all(f"; {names} from {new}" in said for new, names in moved.NAMES.get(old, {}).items())


def found(old: str, name: str) -> object:
    """What a program gets that imports it; the sentence where it has moved."""
    try:
        return getattr(import_module(old), name)
    except ImportError as problem:
        return str(problem)


@pytest.fixture
def shrunk(monkeypatch) -> str:
    """A module that stays, and that a name has left."""
    name = "tfcore.measures.largest"
    monkeypatch.setattr(tfcore.measures, "largest", import_module(name))  # as it was, afterwards
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(moved.NAMES, name, {"tfcore.measures.timing": "milliseconds on_cpu"})
    return name


def test_an_old_name_names_the_new_module(shrunk):
    told = f"{shrunk}.on_cpu has moved: import it from tfcore.measures.timing"
    assert gone(f"from {shrunk} import on_cpu") == found(shrunk, "on_cpu") == told
    exec(f"from {shrunk} import first_largest", {})


def test_other_names_are_missing_as_ever(shrunk):
    assert gone(f"from {shrunk} import wings").startswith("cannot import name 'wings'")
    assert gone("import tfcore.measures.wings").startswith("No module named")
    with pytest.raises(AttributeError, match="no attribute 'wings'"):
        found(shrunk, "wings")


def test_what_a_module_uses_of_what_has_left_it_is_the_same():
    left = [one for one in NAMED if one[0] not in moved.MODULES]
    for old, new, name in left:
        told = f"{old}.{name} has moved: import it from {new}"
        assert found(old, name) == told or found(old, name) is getattr(import_module(new), name)


def test_a_package_may_be_gone_as_well(monkeypatch):
    monkeypatch.setitem(moved.MODULES, "tfcore.wings.left", "tfcore.measures.one_text")
    said = "tfcore.wings.left has moved: import it from tfcore.measures.one_text"
    try:
        assert gone("from tfcore.wings.left import feather") == gone("from tfcore.wings import left") == said
    finally:
        sys.modules.pop("tfcore.wings", None)


def test_one_finder_is_enough():
    moved.tell()
    assert sum(isinstance(finder, moved.Finder) for finder in sys.meta_path) == 1
