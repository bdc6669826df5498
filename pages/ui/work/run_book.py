"""The registry of runs of the lab: turns, limits for each visitor, runs that everybody is shown."""

import secrets
import time

from pages.ui.work.registry import ACTIVE, RefusedError, Registry, State
from pages.ui.work.run_records import NOBODY, Limits, Run
from tfcore.training.lab.spec import LabSpec


class Book(Registry[Run]):
    """All runs of a server. A place is given up after a turn, to who waits."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.places = 0  # slices that could be trained at once when somebody last counted
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
        run = Run(key=secrets.token_urlsafe(12), spec=spec, visitor=visitor, allowed=allowed)
        self.records[run.name] = run
        mine = [kept for kept in self.records.values() if kept.visitor == visitor != NOBODY]
        for old in mine[: max(0, len(mine) - self.limits.each)]:
            self.forget(old)
        self.put(run, "waiting")
        return run

    def put(self, run: Run, state: State) -> None:
        """Give a run another state, and its place in the queue; its turn is over."""
        super().put(run, state)
        run.turn = 0.0

    def forget(self, run: Run) -> None:
        """Let go of a run and all it has."""
        super().forget(run)
        if self.examples.get(run.spec) == run.name:
            del self.examples[run.spec]

    def tidy(self, now: float) -> None:
        """Pause and forget runs that nobody looks at, and those beyond the limits."""
        limits = self.limits
        for run in list(self.records.values()):
            away = now - run.looked
            if away > limits.forgotten or (away > limits.unwatched and run.visitor == NOBODY and run.state in ACTIVE):
                self.forget(run)
            elif away > limits.unwatched and run.state in ACTIVE:
                self.put(run, "paused")
                run.problem = f"Nobody looked at it for {limits.unwatched / 60:.0f} minutes"
        self.forget_resting(limits.kept, limits.memory)

    def due(self, places: int) -> list[Run]:
        """The runs whose next slice is to be given out: places are given up after a turn, and taken by who waits."""
        self.places = places or self.places
        asked_for = any(run.visitor != NOBODY for run in self.queue)
        for run in self.running:
            over = run.turn > self.limits.turn or (asked_for and run.visitor == NOBODY)
            if self.queue and over and not run.away:
                self.put(run, "waiting")
        taken = sum(run.state == "running" or run.away for run in self.records.values())
        for run in [run for run in self.queue if not run.away][: max(0, places - taken)]:
            self.put(run, "running")
        due = [run for run in self.running if not run.away]
        for run in due:
            run.away, run.given = True, time.monotonic()
        return due

    def overdue(self, now: float) -> bool:
        """Whether a slice has been away for too long."""
        return any(run.away and now - run.given > self.limits.overdue for run in self.records.values())
