"""Long work beside the pages: started once, watched by whoever looks, stopped when nobody does any more.

A job is a function that gives an iterator; what it yields is kept, and None only says "still here". Between any two of
these the job can be stopped, and while it waits for the process of a tokenizer (tfcore.wanted). Jobs run in threads of
their own that know nothing of Streamlit, so leaving a page, a rerun or a lost connection does not break them. Two
visitors who ask for the same key share one job.

    job = jobs.JOBS.start(key, lambda: train(config), visitor)    # in every run: it starts once
    job.state, job.items                                          # "running", what came until now

One visitor has one job at a time: starting another lets go of the one before; who closes the page lets go of it, too.
Few jobs run at a time and few wait.
"""

import atexit
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pages.ui import sentences
from pages.ui.server import log
from pages.ui.session import session
from pages.ui.work.registry import ACTIVE, Record, Registry, Snapshot, State
from pages.ui.work.turns import let_others_open
from tfcore.wanted import STILL_WANTED, UnwantedError

Work = Callable[[], Iterator[Any]]
HasLeft = Callable[[], bool]  # whether a visitor is no longer connected
AWAY = 10.0  # seconds after which a visitor whose connection is gone has left: a short gap ends nothing
LAST_STEP = 10.0  # seconds that a process which ends waits for


@dataclass(frozen=True, slots=True)
class Job(Snapshot):
    """The state of a job at this moment.

    Args:
        items: what it has yielded until now.
    """

    items: tuple[Any, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class _Task(Record):
    work: Work | None  # none of one that has ended: with it go the models that it worked on
    visitors: dict[str, HasLeft] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    began: float = 0.0
    patience: float = float("inf")
    halt: threading.Event = field(default_factory=threading.Event)
    there: float = field(default_factory=time.monotonic)  # when one of the visitors was last seen to be connected

    def is_wanted(self) -> bool:
        """Whether somebody still watches it."""
        now = time.monotonic()
        if not all(has_left() for has_left in [*self.visitors.values()]):
            self.there = now
        return not self.halt.is_set() and now - self.there <= AWAY and now - self.looked <= self.patience


def _told(problem: Exception) -> str:
    return sentences.without_paths(f"{type(problem).__name__}: {problem}".splitlines()[0])[:300]


class Jobs:
    """The jobs of a server.

    Args:
        running: how many run at a time.
        waiting: how many may wait.
        kept: how many ended ones are remembered; the one not asked for longest goes first.
        seconds: after that long a job has failed.
    """

    def __init__(self, running: int = 2, waiting: int = 6, kept: int = 48, seconds: float = 180.0) -> None:
        self.running, self.waiting, self.kept, self.seconds = running, waiting, kept, seconds
        self.registry: Registry[_Task] = Registry()
        self._lock = self.registry.lock
        self._busy = 0  # threads, those about to stop included

    def start(
        self, key: Hashable, work: Work, visitor: str, patience: float = float("inf"), has_left: HasLeft = lambda: False
    ) -> Job:
        """Make sure that the job of this key runs, waits or is done, and that this visitor watches it and no other.

        A job that was stopped begins anew, and so does one that has failed, unless this visitor saw it fail and has
        not let go of it since (`stop`). One that nobody looks at for `patience` seconds is stopped, and so is one
        whose visitors have all left.
        """
        with self._lock:
            for other in self.registry.active:
                if other.key != key:
                    self._let_go(other, visitor)
            task = self.registry.look(key)
            if (
                task is None
                or task.state == "stopped"
                or (task.state == "failed" and visitor not in task.visitors)
                or (task.state in ACTIVE and task.halt.is_set())
            ):
                self._forget_unwanted()
                if len(self.registry.queue) >= self.waiting:
                    return Job("refused")
                task = self.registry.records[key] = _Task(key=key, work=work, patience=patience)
                self.registry.put(task, "waiting")
            task.visitors[visitor] = has_left
            self._fill()
            return self._seen(task)

    def look(self, key: Hashable, visitor: str) -> Job | None:
        """The job of this key, None where there is none. For a visitor who let go of it, it counts as stopped."""
        with self._lock:
            task = self.registry.look(key)
            if task is None:
                return None
            job = self._seen(task)
            if job.active and visitor not in task.visitors:
                return Job("stopped", seconds=job.seconds, items=job.items)
            return job

    def wait(self, key: Hashable, items: int, seconds: float) -> None:
        """Return when the job has yielded that many items, when it is over, or after that many seconds."""

        def came() -> bool:
            task = self.registry.look(key)
            return task is None or task.state not in ACTIVE or len(task.items) >= items

        let_others_open()
        with self._lock:
            self._lock.wait_for(came, seconds)

    def stop(self, key: Hashable, visitor: str) -> None:
        """This visitor lets go of the job; it ends before its next step if nobody else watches it."""
        with self._lock:
            if (task := self.registry.records.get(key)) is not None:
                self._let_go(task, visitor)

    def close(self) -> None:
        """Stop all jobs and wait for their threads: a process that ends must not cut torch off in the middle."""
        with self._lock:
            for task in self.registry.active:
                task.visitors.clear()
                self._let_go(task, "")
            self._lock.wait_for(lambda: self._busy == 0, LAST_STEP)

    def _let_go(self, task: _Task, visitor: str) -> None:
        task.visitors.pop(visitor, None)
        if task.visitors or task.state not in ACTIVE:
            return
        task.halt.set()
        self._forget_unwanted()

    def _forget_unwanted(self) -> None:
        """Take out of the queue what nobody waits for any more."""
        for task in [one for one in self.registry.queue if not one.is_wanted()]:
            task.work = None
            self.registry.put(task, "stopped")

    def _seen(self, task: _Task) -> Job:
        seconds = time.monotonic() - task.began if task.state == "running" else task.seconds
        return Job(task.state, self.registry.ahead(task), seconds, task.problem, tuple(task.items))

    def _fill(self) -> None:
        """Start what waits while there is room, and forget what ended longest ago."""
        self._forget_unwanted()
        while self.registry.queue and self._busy < self.running:
            task = self.registry.queue[0]
            self.registry.put(task, "running")
            task.began = time.monotonic()
            self._busy += 1
            work, task.work = task.work, None
            threading.Thread(target=self._run, args=(task, work), name=f"job {task.key!r}"[:60], daemon=True).start()
        self.registry.forget_resting(self.kept)

    def _run(self, task: _Task, work: Work) -> None:
        """In a thread of its own: the work, step by step."""
        state: State = "done"
        STILL_WANTED.set(task.is_wanted)
        try:
            for item in work():
                with self._lock:
                    if item is not None:
                        task.items.append(item)
                        self._lock.notify_all()
                if not task.is_wanted():
                    state = "stopped"
                    break
                if time.monotonic() - task.began > self.seconds:
                    state, task.problem = "failed", f"it took longer than the {self.seconds:.0f} s that it may take"
                    break
        except UnwantedError:
            state = "stopped"
        except Exception as problem:  # whatever it is, the page says so and the server goes on
            state, task.problem = "failed", _told(problem)
            log.write(traceback.format_exc())
        with self._lock:
            task.seconds = time.monotonic() - task.began
            self.registry.put(task, state)
            self._busy -= 1
            self._fill()
            self._lock.notify_all()


JOBS = Jobs()
atexit.register(JOBS.close)


def visitor() -> str:
    """A name for this visitor's session, in which nothing is known of them."""
    return session().visitor
