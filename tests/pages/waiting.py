"""How a test waits for what happens beside it: for a condition, never for a time."""

import time
from collections.abc import Callable

from pages.ui.work import jobs

SOON = 240.0  # seconds that nothing takes, however busy the machine is


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def wait_for_jobs(items: int = 10**9) -> None:
    """Wait until the work that pages have begun, if any has, made so many items or has ended."""
    for task in jobs.JOBS.registry.active:
        jobs.JOBS.wait(task.key, items, SOON)
