"""How far work is: of several cached steps on a page, and of one long call in a job."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import streamlit as st

from tfcore.wanted import STILL_WANTED, UnwantedError

Item = TypeVar("Item")
Result = TypeVar("Result")
PATIENCE = 0.15  # seconds of several steps without a bar
EVERY = 0.2  # seconds after which a job is asked whether it is still wanted
SHARE = 200  # progress is passed on when it has moved by one part in that many
Say = Callable[[Any], None]


def in_turn(
    measure: Callable[[Item], Result],
    items: Sequence[Item],
    words: Callable[[Item], str],
    weight: Callable[[Item], float] = lambda _: 1.0,
) -> list[Result]:
    """Measure one item after the other, with a bar where that takes long; those measured before cost nothing.

    Args:
        measure: a cached function.
        words: what is said while an item is measured, as in "layer 2".
        weight: how much of the whole work an item is.
    """
    place, started = st.empty(), time.monotonic()
    results: list[Result] = []
    total, done = sum(map(weight, items)), 0.0
    for i, item in enumerate(items):
        if time.monotonic() - started > PATIENCE:
            place.progress(done / total, f"{i + 1} of {len(items)}: {words(item)}")
        results.append(measure(item))
        done += weight(item)
    place.empty()
    return results


class WorkError(Exception):
    """The work ended with a problem."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Stopped(BaseException):
    """Raised inside the work when nobody wants it any more; no `except Exception` of a library holds it up."""


def steps(work: Callable[[Say], Any]) -> Iterator[Any]:
    """Messages of the work, and at the end its result; None in between, where it has nothing new to say.

    Args:
        work: called with a function to say how far it is: an object with stage, done and total.

    Raises:
        WorkError: with the work's own problem.
    """
    said: queue.Queue[tuple[str, Any]] = queue.Queue()
    halt, last = threading.Event(), [("", -1)]

    def say(progress: Any) -> None:
        if halt.is_set():
            raise _Stopped
        part = SHARE * progress.done // max(1, progress.total)
        if (progress.stage, part) != last[0]:
            last[0] = (progress.stage, part)
            said.put(("progress", progress))

    def run() -> None:
        STILL_WANTED.set(lambda: not halt.is_set())
        try:
            said.put(("result", work(say)))
        except (_Stopped, UnwantedError):
            said.put(("stopped", None))
        except BaseException as problem:  # a panic inside a library written in Rust is no Exception
            said.put(("problem", problem))

    threading.Thread(target=run, name="progress", daemon=True).start()
    try:
        while True:
            try:
                kind, value = said.get(timeout=EVERY)
            except queue.Empty:
                yield None
                continue
            if kind == "problem":
                raise WorkError(value)
            yield value
            if kind != "progress":
                return
    finally:
        halt.set()
