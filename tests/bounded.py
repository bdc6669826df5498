"""What may be taken: memory and time, measured around a piece of a test."""

import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bounded(megabytes: int, seconds: float) -> Iterator[None]:
    """Fails where the body makes the process grow by more, or computes for longer."""
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 1_000 * megabytes
    assert time.process_time() - start < seconds


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
