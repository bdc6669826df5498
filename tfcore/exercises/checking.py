"""Checking a reader's function: against tfcore's own parts, property by property, and against the usual mistakes."""

import copy
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from tfcore.exercises.exercise import Exercise, Function, Inputs

SECONDS = 10  # that one call may take: the inputs are small
LETTERS = 200  # of an error's message
LEAST = (
    0.1  # results whose largest number is smaller are compared as if it were this: what is left of a sum is rounding
)


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult:
    """What a check found.

    Args:
        exercise: the name of its function.
        passed: every property holds.
        sentence: what it found: the property that fails, and the usual mistake that gives the same results.
        mistake: the name of that mistake, or "".
    """

    exercise: str
    passed: bool
    sentence: str
    mistake: str = ""

    def __repr__(self) -> str:
        return self.sentence


class _RefusedError(Exception):
    """A property that fails, or a function that gives nothing to compare."""


class _TooLong(BaseException):
    """Not an Exception: a reader's own `except Exception` must not swallow it."""


def checked(exercise: Exercise, function: Function, seed: int = 0) -> CheckResult:
    """Run a function on random inputs; say whether it is right, or what is wrong with it and how that came about."""
    cases = exercise.cases(torch.Generator().manual_seed(seed))
    call = partial(guarded, exercise, function)
    try:
        _check_arguments(exercise, function, cases[0])
        for inputs in cases:
            if not _same(exercise, call(*inputs), call(*inputs), 0):
                raise _RefusedError("two calls on the same inputs return different results")
        for claimed in exercise.properties:
            if not all(claimed.holds(call, *inputs) for inputs in cases):
                raise _RefusedError(claimed.fails)
        for inputs in cases:
            _compare(exercise, call(*inputs), exercise.reference(*_copied(inputs)))
    except _RefusedError as why:
        return _result(exercise, function, cases, str(why))
    count = len(exercise.properties) + 1
    right = f"Right: all {count} properties hold on {len(cases)} random inputs, and the results are tfcore's."
    return CheckResult(exercise.key, True, right)


def _result(exercise: Exercise, function: Function, cases: Sequence[Inputs], why: str) -> CheckResult:
    mine = [_outcome(function, inputs) for inputs in cases]
    for wrong, asks in exercise.mistakes:
        theirs = [_outcome(wrong, inputs) for inputs in cases]
        if all(_same(exercise, a, b, exercise.tolerance) for a, b in zip(mine, theirs, strict=True)):
            return CheckResult(exercise.key, False, f"{why}: {asks}", wrong.__name__)
    return CheckResult(exercise.key, False, f"{why}.")


# ---- one call -------------------------------------------------------------------------------------------------------


def guarded(exercise: Exercise, function: Function, *inputs: Any) -> Any:
    """What a function returns for copies of these inputs.

    Raises:
        _RefusedError: it raises, runs long, changes its inputs, or returns another type, shape or dtype than it
            should, or NaN: a sentence.
    """
    given, name = _copied(inputs), exercise.key
    try:
        with _limited(function):
            result = _detached(function(*given))
    except _TooLong:
        raise _RefusedError(f"{name} ran for more than {SECONDS} seconds on {_described(inputs)}") from None
    except NotImplementedError:
        raise _RefusedError(f"{name} is still to be written") from None
    except Exception as error:
        said = " ".join(str(error).split())[:LETTERS]
        raise _RefusedError(f"{name} raised {type(error).__name__} ({said}) on {_described(inputs)}") from error
    for before, after, parameter in zip(inputs, given, _parameters(exercise), strict=True):
        if not isinstance(before, torch.Generator) and not _equal(before, after, 0):
            raise _RefusedError(f"{name} changes its argument {parameter} in place; work on x.clone()")
    expected = exercise.reference(*_copied(inputs))
    if len(exercise.returns) == 1:
        result, expected = (result,), (expected,)
    elif not isinstance(result, tuple) or len(result) != len(exercise.returns):
        raise _RefusedError(f"{name} returns {_described((result,))}; return {', '.join(exercise.returns)}, a tuple")
    for part, got, want in zip(exercise.returns, result, expected, strict=True):
        _check_kind(part, got, want)
    return result if len(exercise.returns) > 1 else result[0]


@contextmanager
def _limited(function: Function) -> Iterator[None]:
    """Raise _TooLong in what a function calls once it has run for SECONDS: at a call, or between two lines of the file
    (or of the cell) that the function stands in, on every system."""
    end, before = monotonic() + SECONDS, sys.gettrace()
    file = getattr(getattr(function, "__code__", None), "co_filename", "")

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        if monotonic() > end:
            raise _TooLong
        return trace if frame.f_code.co_filename == file else None

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _check_arguments(exercise: Exercise, function: Function, inputs: Inputs) -> None:
    try:
        inspect.signature(function).bind(*inputs)
    except TypeError:
        wanted, taken = ", ".join(_parameters(exercise)), inspect.signature(function)
        raise _RefusedError(f"{exercise.key} is called with ({wanted}), and this one takes {taken}") from None


def _check_kind(name: str, got: Any, want: Any) -> None:
    """Refuse a result of another type, shape or dtype, and one that is not finite."""
    if got is None:
        raise _RefusedError(f"{name} is None; is there a return?")
    if not isinstance(want, Tensor):
        if type(got) is not type(want):
            raise _RefusedError(f"{name} is of type {type(got).__name__}, and should be of type {type(want).__name__}")
        if isinstance(want, tuple):
            if len(got) != len(want):
                raise _RefusedError(f"{name} has {len(got)} parts, and should have {len(want)}")
            for i, (one, other) in enumerate(zip(got, want, strict=True)):
                _check_kind(f"{name}[{i}]", one, other)
        return
    if not isinstance(got, Tensor):
        raise _RefusedError(f"{name} is of type {type(got).__name__}, and should be a torch.Tensor")
    if got.shape != want.shape:
        raise _RefusedError(f"{name} has shape {tuple(got.shape)}, and should have {tuple(want.shape)}")
    if got.dtype != want.dtype:
        raise _RefusedError(f"{name} is of {got.dtype}, and should be of {want.dtype}")
    if not bool((finite := got.isfinite()).all()):
        place = (~finite).nonzero()[0].tolist()
        raise _RefusedError(f"{name}{place or ''} is {float(got[tuple(place)])}, and should be finite")


def _compare(exercise: Exercise, got: Any, want: Any) -> None:
    """Refuse a result that is not the reference's, and say where it is furthest from it."""
    one = len(exercise.returns) == 1
    pairs = zip(exercise.returns, (got,) if one else got, (want,) if one else want, strict=True)
    for name, mine, theirs in pairs:
        mine, theirs = exercise.compared(mine), exercise.compared(theirs)
        if _equal(mine, theirs, exercise.tolerance):
            continue
        if not isinstance(mine, Tensor):
            raise _RefusedError(f"{name} is {mine!r:.{LETTERS}}, and tfcore's is {theirs!r:.{LETTERS}}")
        difference = (mine.double() - theirs.double()).abs()
        place = torch.unravel_index(difference.argmax(), difference.shape)
        at = [int(i) for i in place] or ""
        raise _RefusedError(f"{name}{at} is {mine[place]:.4g}, and tfcore's is {theirs[place]:.4g}")


# ---- results --------------------------------------------------------------------------------------------------------


def _outcome(function: Function, inputs: Inputs) -> Any:
    """What a function returns, whatever it is; of one that raises or runs long, the type of the error."""
    try:
        with _limited(function):
            return _detached(function(*_copied(inputs)))
    except _TooLong:
        return _TooLong
    except Exception as error:
        return type(error)


def _same(exercise: Exercise, a: Any, b: Any, tolerance: float) -> bool:
    """Whether two results of an exercise are equal, as far as they are compared."""
    if len(exercise.returns) > 1 or type(a) is not type(b) or isinstance(a, type):
        return _equal(a, b, tolerance)
    return _equal(exercise.compared(a), exercise.compared(b), tolerance)


def _equal(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not a.is_floating_point():
            return bool((a == b).all())
        room = tolerance * max(LEAST, float(b[b.isfinite()].abs().max())) if b.isfinite().any() else tolerance
        return torch.allclose(a, b, rtol=0, atol=room, equal_nan=True)
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(_equal(one, other, tolerance) for one, other in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, torch.Generator):
        return torch.Generator().manual_seed(value.initial_seed())
    if isinstance(value, tuple | list):
        return type(value)(map(_copied, value))
    return value if callable(value) else copy.deepcopy(value)


def _detached(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach()
    return type(value)(map(_detached, value)) if type(value) in (tuple, list) else value


def _parameters(exercise: Exercise) -> list[str]:
    return list(inspect.signature(exercise.solution).parameters)


def _described(values: Sequence[Any]) -> str:
    """Values in a few words: the shapes of tensors, numbers and names as they are."""
    return ", ".join(map(_word, values))


def _word(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    return repr(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
