"""The book of runs: who has which, who waits, whose turn it is, what is let go of. `Runs` holds a lock around it."""

import secrets
import time
from collections import OrderedDict, deque

from pages.ui.work.run_records import ACTIVE, NOBODY, Limits, RefusedError, Run, State
from tfcore.training.lab.spec import LabSpec


class Book:
    """All runs of a server, and the queue of those that wait for a place."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.places = 0  # slices that could be trained at once when somebody last counted
        self.runs: OrderedDict[str, Run] = OrderedDict()
        self.queue: deque[Run] = deque()
        self.examples: dict[LabSpec, str] = {}

    def enter(self, spec: LabSpec, visitor: str, instead: str, allowed: int | None) -> Run:
        """A new run, in the queue. Other runs of this visitor, and the one named `instead`, are paused.

        Raises:
            RefusedError: too many wait.
        """
        if visitor != NOBODY:
            for other in self.active:
                if other.visitor != NOBODY and (other.visitor == visitor or other.name == instead):
                    self.put(other, "paused")
        waiting = sum((run.visitor == NOBODY) == (visitor == NOBODY) for run in self.queue)
        if waiting >= max(self.limits.waiting, self.limits.place * self.places):
            raise RefusedError(f"{waiting} runs are waiting on this server, and no more can; try again in a minute.")
        run = Run(secrets.token_urlsafe(12), spec, visitor, time.monotonic(), allowed=allowed)
        self.runs[run.name] = run
        mine = [kept for kept in self.runs.values() if kept.visitor == visitor != NOBODY]
        for old in mine[: max(0, len(mine) - self.limits.each)]:
            self.forget(old)
        self.put(run, "waiting")
        return run

    def put(self, run: Run, state: State) -> None:
        """Give a run another state, and its place in the queue."""
        if run in self.queue:
            self.queue.remove(run)
        run.state, run.turn = state, 0.0
        if state == "waiting":
            self.queue.append(run)  # what somebody asked for goes before what everybody is shown
            self.queue = deque(sorted(self.queue, key=lambda waiting: waiting.visitor == NOBODY))

    def forget(self, run: Run) -> None:
        """Let go of a run and all it has."""
        self.put(run, "stopped")
        self.runs.pop(run.name, None)
        if self.examples.get(run.spec) == run.name:
            del self.examples[run.spec]

    @property
    def active(self) -> list[Run]:
        """Those that train or wait to."""
        return [run for run in self.runs.values() if run.state in ACTIVE]

    @property
    def busy(self) -> list[Run]:
        """Those that have a place."""
        return [run for run in self.runs.values() if run.state == "running"]

    @property
    def nbytes(self) -> int:
        """Memory of all that is kept."""
        return sum(run.nbytes for run in self.runs.values())

    def tidy(self, now: float) -> None:
        """Pause and forget what nobody looks at, and what there is no room for."""
        limits = self.limits
        for run in list(self.runs.values()):
            away = now - run.looked
            if away > limits.forgotten or (away > limits.unwatched and run.visitor == NOBODY and run.state in ACTIVE):
                self.forget(run)
            elif away > limits.unwatched and run.state in ACTIVE:
                self.put(run, "paused")
                run.problem = f"Nobody looked at it for {limits.unwatched / 60:.0f} minutes"
        resting = sorted((run for run in self.runs.values() if run.state not in ACTIVE), key=lambda run: run.looked)
        while resting and (len(resting) > limits.kept or self.nbytes > limits.memory):
            self.forget(resting.pop(0))

    def due(self, places: int) -> list[Run]:
        """The runs whose next slice is to be given out: places are given up after a turn, and taken by who waits."""
        self.places = places or self.places
        asked_for = any(run.visitor != NOBODY for run in self.queue)
        for run in self.busy:
            over = run.turn > self.limits.turn or (asked_for and run.visitor == NOBODY)
            if self.queue and over and not run.away:
                self.put(run, "waiting")
        taken = sum(run.state == "running" or run.away for run in self.runs.values())
        for run in [run for run in self.queue if not run.away][: max(0, places - taken)]:
            self.put(run, "running")
        due = [run for run in self.busy if not run.away]
        for run in due:
            run.away = True
        return due
