"""Turns: one thread at a time does something, in the order in which they asked.

Two things are done in turns. Passes through large models: see large_models.py. And pages are opened one at a time:
Python computes in one thread at a time, and beside twenty visitors who open pages a run that a slider has asked for
would get one twentieth of it. What runs again of a page that is open waits for nobody.

    with turns.opening():
        page.run()
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pages.ui import fragments, streamlit_internals

EVERY = 0.2  # seconds between two looks whether the visitor who waits is still there
PATIENCE = 1.0  # seconds that a page which is opened has the turn to itself


@dataclass(slots=True, eq=False)
class _Place:
    """A place in the queue."""

    thread: int = field(default_factory=threading.get_ident)
    called: threading.Event = field(default_factory=threading.Event)


class Turns:
    """A queue of threads.

    Args:
        has_left: whether nobody waits any more for what this thread computes.
        leave: ends what this thread does, by an exception.
        patience: seconds after which whoever waits longest has a turn, though the one before has not ended.
        before: is done by a thread that has to wait.
    """

    def __init__(
        self,
        has_left: Callable[[], bool],
        leave: Callable[[], None],
        patience: float = float("inf"),
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self.has_left, self.leave, self.patience, self.before = has_left, leave, patience, before
        self._lock = threading.Lock()
        self._queue: deque[_Place] = deque()
        self._holder: int | None = None  # a thread
        self._depth = 0
        self._since = 0.0

    def take(self) -> None:
        """Wait for a turn; within a turn there is nothing to wait for. Each needs a `give`."""
        mine = _Place()
        with self._lock:
            if self._holder == mine.thread:
                self._depth += 1
                return
            self._queue.append(mine)
            self._call()
        if not mine.called.is_set():
            self.before()
        while not mine.called.wait(EVERY):
            with self._lock:
                self._call()
            if self.has_left():
                self._step_out(mine)

    def give(self) -> None:
        """Hand this thread's turn on to who has waited longest; if it has none, nothing happens."""
        with self._lock:
            if self._holder != threading.get_ident():
                return
            self._depth -= 1
            if not self._depth:
                self._holder = None
                self._call()

    def _call(self) -> None:
        """Call who has waited longest, if it is time."""
        now = time.monotonic()
        if self._queue and (self._holder is None or now - self._since >= self.patience):
            following = self._queue.popleft()
            self._holder, self._depth, self._since = following.thread, 1, now
            following.called.set()

    def _step_out(self, mine: _Place) -> None:
        with self._lock:
            if mine.called.is_set():  # a moment ago: its turn ends as any other
                return
            self._queue.remove(mine)
        self.leave()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)


OPENINGS = Turns(streamlit_internals.has_left, fragments.stop, PATIENCE)


@contextmanager
def opening() -> Iterator[None]:
    """Around the first run of a page."""
    OPENINGS.take()
    try:
        yield
    finally:
        OPENINGS.give()


def let_others_open() -> None:
    """This thread is about to wait: others may open their pages meanwhile."""
    OPENINGS.give()
