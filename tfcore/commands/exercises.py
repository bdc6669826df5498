"""`exercises`: functions to write, what is asked of one, and the check of a reader's own, in this process."""

import runpy
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfcore import exercises
from tfcore.commands import PROGRAM
from tfcore.exercises import EXERCISES, CheckResult
from tfcore.exercises.notebook import imports
from tfcore.measures.token_text import shorten

WIDTH = 100  # signs of a line
LETTERS = 200  # of an error's message


def listed() -> str:
    """A line for each exercise, from easy to hard: its function, and its subject."""
    width = max(map(len, EXERCISES))
    lines = [f"{i:2}  {key:{width}}  {one.title}" for i, (key, one) in enumerate(EXERCISES.items(), 1)]
    return "\n".join([*lines, "", f"{PROGRAM} exercises {next(iter(EXERCISES))} says what is asked"])


def described(name: str, hints: int = 0, with_solution: bool = False) -> str:
    """What is asked: the function with its arguments, what must be true of it, and as many hints as wanted.

    Args:
        name: of the function.
        hints: how many, from a nudge to nearly all of it; more than there are mean all.

    Raises:
        ValueError: there is no such exercise, or less than no hints are asked for.
    """
    one = exercises.exercise(name)
    if hints < 0:
        raise ValueError(f"--hints {hints} is no number of hints; {name} has {len(one.hints)}")
    parts = [
        textwrap.fill(f"{one.title}: {one.asks} {one.papers}", WIDTH),
        f"{imports(one)}\n\n\n{one.stub.rstrip()}",
        "\n".join(["What must be true of it:", *(_item(claimed.claim) for claimed in one.properties)]),
        *(textwrap.fill(f"Hint {i}: {hint}", WIDTH) for i, hint in enumerate(one.hints[:hints], 1)),
    ]
    if with_solution:
        parts.append(f"Solution:\n\n{exercises.solution(name).rstrip()}")
    ways = [f"{PROGRAM} exercises {name} --check FILE.py:{name} checks your function"]
    if hints < len(one.hints):
        ways.append(f"--hints {hints + 1} shows {'another' if hints else 'a first'} of {len(one.hints)} hints")
    return "\n\n".join([*parts, "; ".join(ways)])


def checked(name: str, where: str, seed: int = 0) -> CheckResult:
    """What the check says of a function in a file, which is run as `python FILE` runs it.

    Args:
        name: of the exercise.
        where: FILE.py:FUNCTION; a file alone means its function with the name of the exercise.
        seed: of the inputs.

    Raises:
        ValueError: there is no such exercise, file or function, or the file cannot be run.
    """
    exercises.exercise(name)
    path, colon, function = where.rpartition(":")
    if not colon or not function.isidentifier():  # as in C:\mine.py
        path, function = where, name
    if not (file := Path(path)).is_file():
        raise ValueError(f"--check {where}: there is no file {path}; say it as in --check mine.py:{name}")
    there = _run(file)
    if not callable(there.get(function)):
        own = [key for key, one in there.items() if getattr(one, "__module__", None) == there["__name__"]]
        has = f"it has {', '.join(own)}" if own else "it has none"
        raise ValueError(f"--check {where}: {path} has no function {function}; {has}")
    return exercises.check(there[function], name, seed)


def _run(file: Path) -> Mapping[str, Any]:
    """What a file defines; files beside it can be imported.

    Raises:
        ValueError: it ends with an error.
    """
    sys.path.insert(0, str(file.resolve().parent))
    try:
        return runpy.run_path(str(file), run_name=file.stem)
    except (Exception, SystemExit) as problem:
        said = shorten(" ".join(f"{type(problem).__name__}: {problem}".split()), LETTERS)
        raise ValueError(f"{file} cannot be run: {said}") from problem
    finally:
        sys.path.pop(0)


def _item(words: str) -> str:
    return textwrap.fill(words, WIDTH, initial_indent="- ", subsequent_indent="  ")
