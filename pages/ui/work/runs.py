"""Runs of the lab: trained by workers, slice by slice, for whoever looks. Knows nothing of Streamlit.

A run is a chain of slices of about half a second (tfcore.training.lab.train). When one comes back, the next is given
to the executor, with the state that the last one left. So pausing is not giving the next one, a worker that dies
costs half a second, and nothing is left when a run is forgotten. At most so many runs at once; the others wait in a
queue, and while somebody waits a run gives its place up after its turn.

    name = RUNS.start(spec, visitor)       # the run's id: whoever has it may look, pause, step and stop
    RUNS.look(name)                        # a Seen, or None where there is no such run any more
"""

import atexit
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future

from pages.ui.server import log
from pages.ui.work import run_settings, workers
from pages.ui.work.registry import ACTIVE, State
from pages.ui.work.run_book import Book
from pages.ui.work.run_records import NOBODY, Frozen, Limits, Run, Seen
from pages.ui.work.turns import let_others_open
from pages.ui.work.workers import Workers
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import Slice, train_slice


class Runs:
    """The runs of a server.

    Args:
        connect: opens the workers; called when the first slice is to be trained, and again after they were closed.
    """

    def __init__(self, connect: Callable[[], Workers], limits: Limits | None = None) -> None:
        self.connect, self.book = connect, Book(limits or Limits())
        self._lock = self.book.lock  # of the book and all below
        self._came: deque[tuple[Run, Workers | None, Future[Slice]]] = deque()
        self._news = self._closing = False
        self._thread: threading.Thread | None = None
        self._workers: Workers | None = None
        self._idle_since = time.monotonic()

    # ---- what pages ask for ----

    def start(self, spec: LabSpec, visitor: str, *, instead: str = "", running: bool = True) -> str:
        """Begin a run; returns its id. Other runs of this visitor, and the one named `instead`, are paused.

        Args:
            running: or only looked at, before its first step.

        Raises:
            RefusedError: too many wait.
        """
        with self._lock:
            run = self.book.enter(spec, visitor, instead, None if running else 0)
            self._changed()
            return run.name

    def example(self, spec: LabSpec) -> str:
        """The run of this spec that everybody is shown; begun by the first who asks.

        Raises:
            RefusedError: too many wait.
        """
        with self._lock:
            if spec not in self.book.examples:
                self.book.examples[spec] = self.start(spec, NOBODY)
            return self.book.examples[spec]

    def look(self, name: str) -> Seen | None:
        """A run as it is now; None where there is none of this id."""
        with self._lock:
            if (run := self.book.look(name)) is None:
                return None
            return run.seen(self.book.ahead(run), len(self.book.running))

    def wait(self, name: str, seconds: float) -> None:
        """Return when this run has something to look at, or nothing comes by itself; or after so many seconds."""

        def came() -> bool:
            run = self.book.records.get(name)
            return run is None or run.look is not None or not (run.state in ACTIVE or run.away)

        let_others_open()
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
            run = self.book.look(name)
            return run.freeze() if run is not None else None

    def weights(self, name: str, step: int) -> Frozen | None:
        """The weights frozen at this step; None where there are none."""
        with self._lock:
            run = self.book.look(name)
            return run.frozen.get(step) if run is not None else None

    def close(self) -> None:
        """Forget all runs, and end the workers and the thread."""
        with self._lock:
            for run in list(self.book.records.values()):
                self.book.forget(run)
            self._closing = True
            thread = self._thread
            self._lock.notify_all()
        if thread is not None:
            thread.join()
        with self._lock:
            self._closing = False

    # ---- under the lock ----

    def _change(self, name: str, before: tuple[State, ...], after: State, allowed: int | None = None) -> None:
        with self._lock:
            run = self.book.look(name)
            if run is not None and run.state in before and run.visitor != NOBODY:
                run.allowed, run.problem = allowed, ""
                self.book.put(run, after)
                self._changed()

    def _changed(self) -> None:
        """Tell the thread, which is there while there is anything to do."""
        self._news, self._idle_since = True, time.monotonic()
        if self._thread is None and self.book.queue:
            self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
            self._thread.start()
        self._lock.notify_all()

    # ---- in the thread, which alone touches the workers ----

    def _work(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        """Wait for news, take what came back, give out what is due; False when the thread is over."""
        with self._lock:
            self._lock.wait_for(lambda: self._closing or self._news, self.book.limits.pulse)
            self._news = False
            came, self._came = list(self._came), deque()
            for run, _, future in came:
                self._take(run, future)
            self.book.tidy(time.monotonic())
            wanted = bool(self.book.active) and not self._closing
            overdue = self.book.overdue(time.monotonic())
        if overdue and self._workers is not None:
            self._workers.recover()
        if any(_is_broken(future) and w is self._workers for _, w, future in came):
            self._workers = None
        places = self._places() if wanted else 0
        with self._lock:
            due = self.book.due(places)
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
            log.write(traceback.format_exc())
            self._workers = None
            with self._lock:
                for run in self.book.active:
                    run.problem = f"The machines that train cannot be reached ({type(problem).__name__})"
                    self.book.put(run, "failed")
            return 0

    def _give_out(self, run: Run) -> None:
        trainers = self._workers
        most = run.spec.steps if run.allowed is None else run.allowed
        try:
            assert trainers is not None
            future = trainers.executor.submit(
                train_slice, run.spec, run.step, run.kept, most=most, seconds=self.book.limits.slice
            )
        except Exception as problem:  # the workers broke a moment ago
            future = Future()
            future.set_exception(problem)
        future.add_done_callback(lambda done: self._arrived(run, trainers, done))

    def _arrived(self, run: Run, trainers: Workers | None, future: Future[Slice]) -> None:
        with self._lock:
            self._came.append((run, trainers, future))
            self._news = True
            self._lock.notify_all()

    def _take(self, run: Run, future: Future[Slice]) -> None:
        """Store the result of a slice, or that it was lost."""
        run.away = False
        if run.name not in self.book.records:
            return
        problem = CancelledError() if future.cancelled() else future.exception()
        if problem is not None:
            self._lost(run, problem)
            return
        got = future.result()
        run.took(got)
        if got.problem:
            run.problem = got.problem
            self.book.put(run, "failed")
        elif run.step >= run.spec.steps and run.state != "stopped":
            self.book.put(run, "done")
        elif run.state in ACTIVE and run.allowed is not None:
            self.book.put(run, "paused")
        elif run.state in ACTIVE and run.seconds > self.book.limits.run:
            run.problem = f"It reached the {self.book.limits.run / 60:.0f} minutes that a run may take here"
            self.book.put(run, "stopped")
        self._lock.notify_all()

    def _lost(self, run: Run, problem: BaseException) -> None:
        """The same slice is given out again, from the state that the one before left; a few times."""
        run.lost += 1
        log.write(f"a slice of run at step {run.step} did not come back: {type(problem).__name__}: {problem}")
        if run.lost >= self.book.limits.tries and run.state in ACTIVE:
            run.problem = f"What trained it was lost {run.lost} times in a row; it keeps its {run.step} steps"
            self.book.put(run, "failed")
        self._news = True

    def _rest(self) -> bool:
        """Close workers that have had nothing to do for long; False when there is nothing left at all."""
        now = time.monotonic()
        with self._lock:
            if self.book.active or any(run.away for run in self.book.records.values()):
                self._idle_since = now
            closing = self._closing or now - self._idle_since > self.book.limits.idle
        if closing and self._workers is not None:
            self._workers.close()
            self._workers = None
        with self._lock:
            if self._closing or (self._workers is None and not self.book.records):
                self._thread = None
                return False
            return True


def _is_broken(future: Future[Slice]) -> bool:
    """Whether the workers themselves are gone, and not one slice alone."""
    return future.cancelled() or isinstance(future.exception(), BrokenExecutor | OSError)


RUNS = Runs(lambda: workers.connect(run_settings.read()))
atexit.register(RUNS.close)
