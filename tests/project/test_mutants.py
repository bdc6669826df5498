"""The mutation tester on modules of its own: what it leaves out, which tests it runs, who survives."""

import ast
import itertools
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT
from tests.nightly import nightly
from tools import mutants

SOURCE = '''\
"""Module."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    count: int | None = None


HEIGHT = 400


def most(values: list[int], at: int = 1, *, height: int = 300) -> int:
    figure(height=300)
    columns([3, 1])
    label("a long name", 12)
    values.append(20_000)
    return max(values) - at
'''


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A repository of one module."""
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "tfcore" / "measures").mkdir(parents=True)
    path = tmp_path / "tfcore" / "measures" / "most.py"
    path.write_text(SOURCE)
    return path


def test_sizes_layout_annotations_and_decorators_are_left_out(planted):
    found = list(mutants.mutants(planted))
    lines = {SOURCE.splitlines()[mutant.line - 1].strip() for mutant in found}
    assert lines == {SOURCE.splitlines()[12], "return max(values) - at"}
    assert not any("height: int = 301" in mutant.code() or "/, height" in mutant.code() for mutant in found)
    assert any("max(values) + at" in mutant.code() for mutant in found)
    for mutant in found:
        assert ast.dump(ast.parse(mutant.code())) != ast.dump(ast.parse(SOURCE))


def test_who_passes_its_tests_survives_and_the_module_is_as_before(planted):
    mutant = next(mutant for mutant in mutants.mutants(planted) if "max(values) + at" in mutant.code())
    said = "import sys; sys.path.insert(0, 'tfcore/measures'); "
    source = said + "text = open('tfcore/measures/most.py').read(); sys.exit({} in text)"
    notices = [sys.executable, "-c", source.format("'max(values) + at'")]
    blind = [sys.executable, "-c", source.format("'another'")]
    assert not mutants.survives(mutant, planted.parents[2], notices)
    assert mutants.survives(mutant, planted.parents[2], blind)
    assert planted.read_text() == SOURCE


def test_tests_that_do_not_run_are_no_kill(planted):
    mutant = next(mutants.mutants(planted))
    with pytest.raises(RuntimeError, match="do not run"):
        mutants.survives(mutant, planted.parents[2], [sys.executable, "-c", "raise SystemExit(4)"])


@nightly
def test_a_seed_gives_the_same_sample_and_no_mutant_twice():
    first = list(itertools.islice(mutants.sampled(3), 3))
    assert first == list(itertools.islice(mutants.sampled(3), 3))
    assert len(set(first)) == 3
    for mutant in first:
        assert mutants.tests_of(mutant.path), mutant.path


@nightly
def test_the_tests_that_are_run_exist():
    modules = {mutant.path for mutant in itertools.islice(mutants.sampled(0), 6)}
    named = {
        name
        for path in {"pages/router.py", "pages/reference/check/page.py", "tfcore/views/model/modern/draw.py", *modules}
        for name in mutants.tests_of(path)
    }
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *sorted(named)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:]


def test_what_is_no_program_or_the_same_one_is_no_mutant():
    assert not mutants.is_another("{*a, 1: b}", "{**a, 1: b}")
    assert not mutants.is_another("x = 1e+19", "x = 1e19")
    assert mutants.is_another("x = 2", "x = 1")
