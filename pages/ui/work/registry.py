"""Work beside the pages, of every kind: its states, and the registry of who waits, who runs and what is let go of."""

import threading
import time
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from math import inf
from typing import Generic, Literal, TypeVar

State = Literal["waiting", "running", "paused", "done", "stopped", "failed", "refused", "stored"]
ACTIVE: tuple[State, ...] = ("waiting", "running")


class RefusedError(Exception):
    """Nothing was started; one sentence says why."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of some work at this moment, for a page.

    Args:
        state: refused: too many are waiting, nothing was started. stored: it was made before, elsewhere.
        ahead: how many wait in front of it, while it waits.
        seconds: how long it has run.
        problem: one sentence, where it ended before its end.
    """

    state: State
    ahead: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def active(self) -> bool:
        """Whether it runs, or waits to."""
        return self.state in ACTIVE

    def turn(self, this: str) -> str:
        """How many wait before `this`, in words that follow on a comma."""
        if not self.ahead:
            return f"and {this} is next"
        return f"and {self.ahead} {'waits' if self.ahead == 1 else 'wait'} before {this}"

    @property
    def moving(self) -> bool:
        """Whether there is more to come by itself."""
        return self.active


@dataclass(slots=True, eq=False, kw_only=True)
class Record:
    """The server's record of a piece of work.

    Args:
        looked: when somebody last looked.
    """

    key: Hashable
    state: State = "paused"
    seconds: float = 0.0
    problem: str = ""
    looked: float = field(default_factory=time.monotonic)

    @property
    def nbytes(self) -> int:
        """Memory that counts against the registry's limit."""
        return 0

    @property
    def yields(self) -> bool:
        """Whether all others that wait go first."""
        return False


R = TypeVar("R", bound=Record)


class Registry(Generic[R]):
    """All work of one kind. Whoever uses it holds its lock, which is told of whenever something has come or ended."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.records: dict[Hashable, R] = {}
        self.queue: deque[R] = deque()

    def put(self, record: R, state: State) -> None:
        """Give a record another state, and its place in the queue."""
        if record in self.queue:
            self.queue.remove(record)
        record.state = state
        if state == "waiting":
            self.queue.append(record)
            self.queue = deque(sorted(self.queue, key=lambda waiting: waiting.yields))

    def look(self, key: Hashable) -> R | None:
        """The record of this key, which somebody looks at now."""
        if (record := self.records.get(key)) is not None:
            record.looked = time.monotonic()
        return record

    def ahead(self, record: R) -> int:
        """How many wait in front of it."""
        return self.queue.index(record) if record in self.queue else 0

    def forget(self, record: R) -> None:
        """Let go of a record and all it has."""
        self.put(record, "stopped")
        if self.records.get(record.key) is record:
            del self.records[record.key]

    def forget_resting(self, kept: int, memory: float = inf) -> None:
        """Keep so many that neither run nor wait, and so many bytes: what was looked at longest ago goes first."""
        resting = sorted((one for one in self.records.values() if one.state not in ACTIVE), key=lambda one: one.looked)
        while resting and (len(resting) > kept or self.nbytes > memory):
            self.forget(resting.pop(0))

    @property
    def active(self) -> list[R]:
        """Records of work that runs or waits to."""
        return [record for record in self.records.values() if record.state in ACTIVE]

    @property
    def running(self) -> list[R]:
        """Records of work that has a place."""
        return [record for record in self.records.values() if record.state == "running"]

    @property
    def nbytes(self) -> int:
        """Memory of all that is kept."""
        return sum(record.nbytes for record in self.records.values())
