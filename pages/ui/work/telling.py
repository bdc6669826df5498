"""Work that tells how far it is, as the steps of a job: it runs in a thread of its own and can be stopped."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

EVERY = 0.2  # seconds after which a job is asked whether it is still wanted
SHARE = 200  # progress is passed on when it has moved by one part in that many
Say = Callable[[Any], None]


class WorkError(Exception):
    """The work ended with a problem."""

    def __init__(self, problem: BaseException) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Stopped(BaseException):
    """Raised inside the work when nobody wants it any more; no `except Exception` of a library holds it up."""


def steps(work: Callable[[Say], Any]) -> Iterator[Any]:
    """What the work says, and at the end what it returns; None in between, where it has nothing new to say.

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
        try:
            said.put(("result", work(say)))
        except _Stopped:
            said.put(("stopped", None))
        except BaseException as problem:  # a panic inside a library written in Rust is no Exception
            said.put(("problem", problem))

    threading.Thread(target=run, name="telling", daemon=True).start()
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
