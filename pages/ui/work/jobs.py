"""Long work beside the pages: started once, watched by whoever looks, stopped when nobody does any more.

A job is a function that gives an iterator; what it yields is kept, and None only says "still here". Between any two of
these the job can be stopped. Jobs run in threads of their own that know nothing of Streamlit, so leaving a page, a
rerun or a lost connection does not break them. Two visitors who ask for the same key share one job.

    job = jobs.JOBS.start(key, lambda: train(config), visitor)    # in every run: it starts once
    job.state, job.items                                          # "running", what came until now

One visitor has one job at a time: starting another lets go of the one before. Few jobs run at a time and few wait.
"""

import atexit
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pages.ui import sentences
from pages.ui.session import session

State = Literal["waiting", "running", "done", "stopped", "failed", "refused"]
Work = Callable[[], Iterator[Any]]
ACTIVE: tuple[State, ...] = ("waiting", "running")
LAST_STEP = 10.0  # seconds that a process which ends waits for


@dataclass(frozen=True, slots=True)
class Job:
    """What a job is at this moment.

    Args:
        state: refused: too many are waiting, nothing was started.
        items: what it has yielded until now.
        ahead: how many jobs are waiting in front of it.
        seconds: how long it has run.
        problem: one sentence, where it failed.
    """

    state: State
    items: tuple[Any, ...] = ()
    ahead: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def active(self) -> bool:
        """Whether there is more to come."""
        return self.state in ACTIVE


@dataclass(slots=True)
class _Task:
    key: Hashable
    work: Work
    visitors: set[str]
    state: State = "waiting"
    items: list[Any] = field(default_factory=list)
    began: float = 0.0
    seconds: float = 0.0
    problem: str = ""
    patience: float = float("inf")
    looked: float = 0.0  # when somebody last looked
    halt: threading.Event = field(default_factory=threading.Event)


def _told(problem: Exception) -> str:
    return sentences.without_paths(f"{type(problem).__name__}: {problem}".splitlines()[0])[:300]


class Jobs:
    """The jobs of a server.

    Args:
        running: how many run at a time.
        waiting: how many may wait.
        kept: how many ended ones are remembered; the one not asked for longest goes first.
        seconds: after that long a job is stopped.
    """

    def __init__(self, running: int = 2, waiting: int = 6, kept: int = 48, seconds: float = 180.0) -> None:
        self.running, self.waiting, self.kept, self.seconds = running, waiting, kept, seconds
        self._lock = threading.Condition()  # of all below; told of whenever something was yielded or ended
        self._tasks: OrderedDict[Hashable, _Task] = OrderedDict()
        self._busy = 0  # threads, those about to stop included

    def start(self, key: Hashable, work: Work, visitor: str, patience: float = float("inf")) -> Job:
        """Make sure that the job of this key runs, waits or is done, and that this visitor watches it and no other.

        A job that was stopped or has failed begins anew. One that nobody looks at for `patience` seconds is stopped.
        """
        with self._lock:
            self._leave(visitor, but=key)
            task = self._tasks.get(key)
            again = task is None or task.state in ("stopped", "failed") or (task.halt.is_set() and task.state != "done")
            if task is None or again:
                if len(self._in("waiting")) >= self.waiting:
                    return Job("refused")
                task = self._tasks[key] = _Task(key, work, set(), patience=patience)
            task.visitors.add(visitor)
            task.looked = time.monotonic()
            self._fill()
            return self._seen(task)

    def look(self, key: Hashable, visitor: str) -> Job | None:
        """The job of this key, None where there is none. For a visitor who let go of it, it counts as stopped."""
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                return None
            self._tasks.move_to_end(key)
            task.looked = time.monotonic()
            job = self._seen(task)
            if job.active and visitor not in task.visitors:
                return Job("stopped", job.items, 0, job.seconds)
            return job

    def wait(self, key: Hashable, items: int, seconds: float) -> None:
        """Return when the job has yielded that many items, when it is over, or after that many seconds."""
        with self._lock:
            self._lock.wait_for(lambda: self._came(key, items), seconds)

    def _came(self, key: Hashable, items: int) -> bool:
        if (task := self._tasks.get(key)) is None:
            return True
        task.looked = time.monotonic()
        return task.state not in ACTIVE or len(task.items) >= items

    def stop(self, key: Hashable, visitor: str) -> None:
        """This visitor lets go of the job; it ends before its next step if nobody else watches it."""
        with self._lock:
            if (task := self._tasks.get(key)) is not None:
                self._let_go(task, visitor)

    def close(self) -> None:
        """Stop all jobs and wait for their threads: a process that ends must not cut torch off in the middle."""
        with self._lock:
            for task in self._in(*ACTIVE):
                task.visitors.clear()
                self._let_go(task, "")
            self._lock.wait_for(lambda: self._busy == 0, LAST_STEP)

    def _leave(self, visitor: str, but: Hashable) -> None:
        for task in self._in(*ACTIVE):
            if task.key != but:
                self._let_go(task, visitor)

    def _let_go(self, task: _Task, visitor: str) -> None:
        task.visitors.discard(visitor)
        if task.visitors or task.state not in ACTIVE:
            return
        task.halt.set()
        if task.state == "waiting":
            task.state = "stopped"

    def _in(self, *states: State) -> list[_Task]:
        return [task for task in self._tasks.values() if task.state in states]

    def _seen(self, task: _Task) -> Job:
        waiting = self._in("waiting")
        ahead = waiting.index(task) if task.state == "waiting" else 0
        seconds = time.monotonic() - task.began if task.state == "running" else task.seconds
        return Job(task.state, tuple(task.items), ahead, seconds, task.problem)

    def _fill(self) -> None:
        """Start what waits while there is room, and forget what ended longest ago."""
        for task in self._in("waiting")[: max(0, self.running - self._busy)]:
            task.state, task.began = "running", time.monotonic()
            self._busy += 1
            threading.Thread(target=self._run, args=(task,), name=f"job {task.key!r}"[:60], daemon=True).start()
        ended = [task for task in self._tasks.values() if task.state not in ACTIVE]
        for task in ended[: max(0, len(ended) - self.kept)]:
            del self._tasks[task.key]

    def _run(self, task: _Task) -> None:
        """In a thread of its own: the work, step by step."""
        state: State = "done"
        try:
            for item in task.work():
                with self._lock:
                    if item is not None:
                        task.items.append(item)
                        self._lock.notify_all()
                now = time.monotonic()
                if task.halt.is_set() or now - task.began > self.seconds or now - task.looked > task.patience:
                    state = "stopped"
                    break
        except Exception as problem:  # whatever it is, the page says so and the server goes on
            state, task.problem = "failed", _told(problem)
            sys.stderr.write(traceback.format_exc())
        with self._lock:
            task.state, task.seconds = state, time.monotonic() - task.began
            self._busy -= 1
            self._fill()
            self._lock.notify_all()


JOBS = Jobs()
atexit.register(JOBS.close)


def visitor() -> str:
    """A name for this visitor's session, in which nothing is known of them."""
    return session().visitor
