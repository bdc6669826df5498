"""Runs of the lab: who trains what, whose turn it is, and what came of it. Knows nothing of Streamlit.

A run is a chain of slices of about half a second (tfcore.training.lab.train). When one comes back, the next is given
to the executor, with the state that the last one left. So pausing is not giving the next one, a worker that dies
costs half a second, and nothing is left when a run is forgotten. At most so many runs at once; the others wait in a
queue, and while somebody waits a run gives its place up after its turn.

    name = RUNS.start(spec, visitor)       # the run's id: whoever has it may look, pause, step and stop
    RUNS.look(name)                        # a Seen, or None where there is no such run any more
"""

import atexit
import secrets
import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, field
from typing import Literal

from pages.ui import run_settings, workers
from pages.ui.workers import Workers
from tfcore.analysis.training_run import Curves, Look
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import Slice, train_slice

State = Literal["waiting", "running", "paused", "done", "stopped", "failed"]
ACTIVE: tuple[State, ...] = ("waiting", "running")
NOBODY = ""  # whose run it is that everybody is shown


class RefusedError(Exception):
    """No run was started; one sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What runs may take; times in seconds.

    Args:
        slice: of training, between two looks at a run.
        turn: of training, after which a run gives its place to one that waits.
        run: of training, after which a run ends.
        unwatched, forgotten: after which a run that nobody looks at is paused, and let go of.
        idle: after which workers without work are closed.
        pulse: between two looks for what nobody looks at.
        waiting, each, kept: runs that may wait; that one visitor has; that there are.
        memory: bytes of all that is kept.
        tries: how often a slice that did not come back is given out again.
    """

    slice: float = 0.5
    turn: float = 20.0
    run: float = 900.0
    unwatched: float = 300.0
    forgotten: float = 3_600.0
    idle: float = 120.0
    pulse: float = 5.0
    waiting: int = 60
    each: int = 8
    kept: int = 400
    memory: int = 400_000_000
    tries: int = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """A run at this moment.

    Args:
        ahead, others: while it waits: how many go before it, and how many are training.
        seconds: of training until now.
        problem: one sentence, where it ended before its last step.
    """

    name: str
    spec: LabSpec
    state: State
    step: int
    curves: Curves | None
    look: Look | None
    ahead: int
    others: int
    seconds: float
    problem: str
    shared: bool

    @property
    def active(self) -> bool:
        """Whether there is more to come by itself."""
        return self.state in ACTIVE


@dataclass(slots=True)
class _Run:
    name: str
    spec: LabSpec
    visitor: str
    looked: float
    state: State = "paused"
    step: int = 0
    kept: bytes | None = None
    curves: Curves | None = None
    look: Look | None = None
    seconds: float = 0.0
    turn: float = 0.0  # seconds trained since it got its place
    allowed: int | None = None  # steps until it pauses; None: all
    away: bool = False  # a slice of it is being trained
    lost: int = 0  # slices in a row that did not come back
    problem: str = ""
    frozen: OrderedDict[int, bytes] = field(default_factory=OrderedDict)  # step -> weights that other pages show

    @property
    def nbytes(self) -> int:
        parts = (len(self.kept or b""), self.curves.nbytes if self.curves else 0, self.look.nbytes if self.look else 0)
        return sum(parts) + sum(len(state) for state in self.frozen.values() if state is not self.kept)


class Runs:
    """The runs of a server.

    Args:
        connect: opens the workers; called when the first slice is to be trained, and again after they were closed.
    """

    def __init__(self, connect: Callable[[], Workers], limits: Limits | None = None) -> None:
        self.connect, self.limits = connect, limits or Limits()
        self._lock = threading.Condition()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._queue: deque[_Run] = deque()
        self._came: deque[tuple[_Run, Workers | None, Future[Slice]]] = deque()
        self._news = False
        self._thread: threading.Thread | None = None
        self._workers: Workers | None = None
        self._idle_since = time.monotonic()
        self._examples: dict[LabSpec, str] = {}
        self._closing = False

    # ---- what pages ask for ----

    def start(self, spec: LabSpec, visitor: str, *, instead: str = "", running: bool = True) -> str:
        """Begin a run; returns its id. Other runs of this visitor, and the one named `instead`, are paused.

        Args:
            running: or only looked at, before its first step.

        Raises:
            RefusedError: too many wait.
        """
        with self._lock:
            for other in list(self._runs.values()):
                if (
                    other.state in ACTIVE
                    and other.visitor != NOBODY
                    and (other.visitor == visitor or other.name == instead)
                ):
                    self._put(other, "paused")
            if len(self._queue) >= self.limits.waiting:
                raise RefusedError(
                    f"{len(self._queue)} runs are waiting on this server, and no more can; try again in a minute."
                )
            run = _Run(secrets.token_urlsafe(12), spec, visitor, time.monotonic())
            self._runs[run.name] = run
            mine = [r for r in self._runs.values() if r.visitor == visitor != NOBODY]
            for old in mine[: max(0, len(mine) - self.limits.each)]:
                self._forget(old)
            run.allowed = None if running else 0
            self._put(run, "waiting")
            return run.name

    def example(self, spec: LabSpec) -> str:
        """The run of this spec that everybody is shown; begun by the first who asks.

        Raises:
            RefusedError: too many wait.
        """
        with self._lock:
            if self._examples.get(spec) not in self._runs:
                self._examples[spec] = self.start(spec, NOBODY)
            return self._examples[spec]

    def look(self, name: str) -> Seen | None:
        """A run as it is now; None where there is none of this id."""
        with self._lock:
            if (run := self._runs.get(name)) is None:
                return None
            run.looked = time.monotonic()
            ahead = self._queue.index(run) if run in self._queue else 0
            return Seen(
                run.name, run.spec, run.state, run.step, run.curves, run.look, ahead, len(self._busy()), run.seconds,
                run.problem, run.visitor == NOBODY,
            )  # fmt: skip

    def wait(self, name: str, step: int, seconds: float) -> None:
        """Return when this run has done more than `step` steps or is looked at for the first time, when nothing more
        comes by itself, or after so many seconds."""

        def came() -> bool:
            run = self._runs.get(name)
            return (
                run is None or (run.look is not None and run.step > step) or (run.state not in ACTIVE and not run.away)
            )

        with self._lock:
            self._lock.wait_for(came, seconds)

    def pause(self, name: str) -> None:
        """Train no further for now."""
        self._change(name, ACTIVE, "paused")

    def stop(self, name: str) -> None:
        """Train no further; what it has is kept."""
        self._change(name, (*ACTIVE, "paused"), "stopped")

    def go_on(self, name: str) -> None:
        """Train on."""
        self._change(name, ("paused",), "waiting")

    def one_step(self, name: str) -> None:
        """One optimiser step, then pause."""
        self._change(name, (*ACTIVE, "paused"), "waiting", allowed=1)

    def freeze(self, name: str) -> int | None:
        """Keep the weights of a run that rests, for other pages: the step they are of, None where it does not rest."""
        with self._lock:
            run = self._runs.get(name)
            if run is None or run.kept is None or run.state in ACTIVE or run.away:
                return None
            run.frozen[run.step] = run.kept
            while len(run.frozen) > 2:
                run.frozen.popitem(last=False)
            return run.step

    def weights(self, name: str, step: int) -> tuple[LabSpec, bytes] | None:
        """What was frozen at this step."""
        with self._lock:
            run = self._runs.get(name)
            if run is None or step not in run.frozen:
                return None
            run.looked = time.monotonic()
            return run.spec, run.frozen[step]

    def state_of(self, name: str) -> bytes | None:
        """The state that the last slice of a run left."""
        with self._lock:
            run = self._runs.get(name)
            return run.kept if run is not None else None

    def close(self) -> None:
        """Forget all runs, and end the workers and the thread."""
        with self._lock:
            for run in list(self._runs.values()):
                self._forget(run)
            self._closing = True
            thread = self._thread
            self._lock.notify_all()
        if thread is not None:
            thread.join()
        with self._lock:
            self._closing = False

    @property
    def nbytes(self) -> int:
        """Memory of all that is kept."""
        with self._lock:
            return sum(run.nbytes for run in self._runs.values())

    # ---- under the lock ----

    def _change(self, name: str, before: tuple[State, ...], after: State, allowed: int | None = None) -> None:
        with self._lock:
            run = self._runs.get(name)
            if run is not None and run.state in before and run.visitor != NOBODY:
                run.allowed = allowed
                self._put(run, after)

    def _put(self, run: _Run, state: State) -> None:
        """Give a run another state, and its place in the queue."""
        if run in self._queue:
            self._queue.remove(run)
        run.state, run.turn = state, 0.0
        if state == "waiting":
            self._queue.append(run)  # what somebody asked for goes before what everybody is shown
            self._queue = deque(sorted(self._queue, key=lambda waiting: waiting.visitor == NOBODY))
            self._idle_since = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
                self._thread.start()
        self._news = True
        self._lock.notify_all()

    def _forget(self, run: _Run) -> None:
        self._put(run, "stopped")
        self._runs.pop(run.name, None)

    def _busy(self) -> list[_Run]:
        return [run for run in self._runs.values() if run.state == "running"]

    def _tidy(self, now: float) -> None:
        """Pause and forget what nobody looks at."""
        limits = self.limits
        for run in list(self._runs.values()):
            if now - run.looked > limits.forgotten:
                self._forget(run)
            elif run.state in ACTIVE and now - run.looked > limits.unwatched:
                self._put(run, "paused") if run.visitor != NOBODY else self._forget(run)
        resting = sorted((r for r in self._runs.values() if r.state not in ACTIVE), key=lambda r: r.looked)
        while resting and (len(self._runs) > limits.kept or sum(r.nbytes for r in self._runs.values()) > limits.memory):
            self._forget(resting.pop(0))

    def _due(self, places: int) -> list[_Run]:
        """The runs whose next slice is to be given out, places taken and given up."""
        asked_for = any(run.visitor != NOBODY for run in self._queue)
        for run in self._busy():
            over = run.turn > self.limits.turn or (asked_for and run.visitor == NOBODY)
            if self._queue and over and not run.away:
                self._put(run, "waiting")
        taken = {id(run): run for run in self._runs.values() if run.state == "running" or run.away}
        while self._queue and len(taken) < places:
            if (run := self._queue.popleft()).away:  # paused and resumed while a slice was out
                self._queue.append(run)
                break
            run.state, run.turn = "running", 0.0
            taken[id(run)] = run
        due = [run for run in self._busy() if not run.away]
        for run in due:
            run.away = True
        return due

    # ---- in the thread, which alone touches the workers ----

    def _work(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        """Wait for news, take what came back, give out what is due; False when the thread is over."""
        with self._lock:
            self._lock.wait_for(lambda: self._closing or self._news, self.limits.pulse)
            self._news = False
            came, self._came = list(self._came), deque()
            for run, _, future in came:
                self._take(run, future)
            self._tidy(time.monotonic())
            wanted = bool(self._queue or self._busy()) and not self._closing
        if any(_is_broken(future) and w is self._workers for _, w, future in came):
            self._workers = None
        places = self._places() if wanted else 0
        with self._lock:
            due = self._due(places)
        for run in due:
            self._give_out(run)
        return self._rest()

    def _places(self) -> int:
        """How many slices can be trained at once; opens the workers. Without workers all runs end."""
        try:
            if self._workers is None:
                self._workers = self.connect()
            return self._workers.places()
        except Exception as problem:  # whatever a network does, the page says so and the server goes on
            sys.stderr.write(traceback.format_exc())
            self._workers = None
            with self._lock:
                for run in [*self._queue, *self._busy()]:
                    run.problem = f"The machines that train cannot be reached ({type(problem).__name__})"
                    self._put(run, "failed")
            return 0

    def _give_out(self, run: _Run) -> None:
        trainers = self._workers
        most = run.spec.steps if run.allowed is None else run.allowed
        try:
            assert trainers is not None
            future = trainers.executor.submit(
                train_slice, run.spec, run.step, run.kept, most=most, seconds=self.limits.slice
            )
        except Exception as problem:  # the workers broke a moment ago
            future = Future()
            future.set_exception(problem)
        future.add_done_callback(lambda done: self._arrived(run, trainers, done))

    def _arrived(self, run: _Run, trainers: Workers | None, future: Future[Slice]) -> None:
        with self._lock:
            self._came.append((run, trainers, future))
            self._news = True
            self._lock.notify_all()

    def _take(self, run: _Run, future: Future[Slice]) -> None:
        """What a slice left, or that it did not come back."""
        run.away = False
        if run.name not in self._runs:
            return
        problem = CancelledError() if future.cancelled() else future.exception()
        if problem is not None:
            self._lost(run, problem)
            return
        got = future.result()
        run.step, run.kept, run.look, run.lost = got.step, got.state, got.look, 0
        run.curves = got.curves if run.curves is None else run.curves.then(got.curves)
        run.seconds, run.turn = run.seconds + got.seconds, run.turn + got.seconds
        if got.problem:
            run.problem = got.problem
            self._put(run, "failed")
        elif run.step >= run.spec.steps and run.state != "stopped":
            self._put(run, "done")
        elif run.state in ACTIVE and run.allowed is not None:
            self._put(run, "paused")
        elif run.state in ACTIVE and run.seconds > self.limits.run:
            run.problem = f"It reached the {self.limits.run / 60:.0f} minutes that a run may take here"
            self._put(run, "stopped")
        self._lock.notify_all()

    def _lost(self, run: _Run, problem: BaseException) -> None:
        """The same slice is given out again, from the state that the one before left; a few times."""
        run.lost += 1
        sys.stderr.write(f"a slice of run at step {run.step} did not come back: {type(problem).__name__}: {problem}\n")
        if run.lost >= self.limits.tries and run.state in ACTIVE:
            run.problem = f"What trained it was lost {run.lost} times in a row; it keeps its {run.step} steps"
            self._put(run, "failed")
        self._news = True

    def _rest(self) -> bool:
        """Close workers that have had nothing to do for long; False when there is nothing left at all."""
        now = time.monotonic()
        with self._lock:
            if any(run.state in ACTIVE or run.away for run in self._runs.values()):
                self._idle_since = now
            closing = self._closing or now - self._idle_since > self.limits.idle
        if closing and self._workers is not None:
            self._workers.close()
            self._workers = None
        with self._lock:
            if self._closing or (self._workers is None and not self._runs):
                self._thread = None
                return False
            return True


def _is_broken(future: Future[Slice]) -> bool:
    """Whether the workers themselves are gone, and not one slice alone."""
    return future.cancelled() or isinstance(future.exception(), BrokenExecutor | OSError)


RUNS = Runs(lambda: workers.connect(run_settings.read()))
atexit.register(RUNS.close)
