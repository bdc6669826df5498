"""What may be taken: memory and time, measured around a piece of a test."""

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class Taken:
    """What a piece of work took.

    Args:
        megabytes: by which the process was larger at its largest than before.
        seconds: of computing, of all threads.
        held: seconds for which other threads stood still at the longest.
    """

    megabytes: float = 0.0
    seconds: float = 0.0
    held: float = 0.0


@contextmanager
def measured() -> Iterator[Taken]:
    """What the body takes, filled in when it has ended, however it ends."""
    found, done = Taken(), threading.Event()

    def tick() -> None:
        last = time.monotonic()
        while not done.wait(0.01):
            now = time.monotonic()
            found.held, last = max(found.held, now - last), now

    Path("/proc/self/clear_refs").write_text("5")  # the largest size so far is forgotten
    memory, start = _kilobytes("VmRSS"), time.process_time()
    watch = threading.Thread(target=tick)
    watch.start()
    try:
        yield found
    finally:
        found.seconds = time.process_time() - start
        done.set()
        watch.join()
        found.megabytes = (_kilobytes("VmHWM") - memory) / 1_000


def taken(work: Callable[[], object]) -> Taken:
    """What some work takes; see measured."""
    with measured() as found:
        work()
    return found


def _kilobytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"), re.MULTILINE)
    assert found
    return int(found[1])


@contextmanager
def bounded(megabytes: int, seconds: float) -> Iterator[None]:
    """Fails where the body makes the process grow by more, or computes for longer."""
    with measured() as found:
        yield
    assert found.megabytes < megabytes
    assert found.seconds < seconds


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fails where the body has not ended after that time, also where it waits for ever."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
