"""What `make test` leaves to `make nightly`: a second look at lines that other tests see, in another colour, at another
size, with another of many models; and what takes long: every choice of every page, real trainings, two
processes that train, a library that nothing else needs. Tests that are named on the command line are run in any
case."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest

nightly = pytest.mark.nightly


def often_named(cases: Mapping[str, Any], *kept: str) -> list[Any]:
    """The same of cases by name."""
    assert cases.keys() >= set(kept), f"{kept} are not all among the cases"
    return [pytest.param(case, id=name, marks=[] if name in kept else nightly) for name, case in cases.items()]


def often(cases: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """The cases of a parametrised test: those of `kept` in every run, the others each night."""
    found = [case if case in kept else pytest.param(case, marks=nightly) for case in cases]
    assert sum(case in kept for case in cases) == len(kept), f"{kept} are not all among the cases"
    return found


def often_of_several(cases: Iterable[tuple[Any, ...]], kept: Collection[tuple[Any, ...]]) -> list[Any]:
    """The same for a test with several parameters, of which each case is a tuple."""
    return [
        pytest.param(*case.values[0], marks=case.marks) if hasattr(case, "marks") else case
        for case in often(cases, kept)
    ]
