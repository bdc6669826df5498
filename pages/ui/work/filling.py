"""Results that fill in while a visitor looks: all at once where that is quick, else in a job that can be stopped."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from pages.ui.work import jobs, live

FEW = 25e9  # floating-point operations that a visitor is made to wait for: about a quarter of a second


def fill(
    key: Hashable,
    operations: float,
    work: Callable[[], Iterator[Any]],
    at_once: Callable[[], Sequence[Any]],
    draw: Callable[[Sequence[Any]], None],
    total: int,
    step: str,
    wait: float = live.FIRST,
) -> None:
    """Draw what is there until now, and again as more comes.

    Args:
        key: of the job.
        operations: how much work it is in all.
        work: yields the results one by one, in a job.
        at_once: all results, cached; used where they are quick.
        draw: shows the results there are; with none, what is there without them.
        total: how many there will be.
        step: what one is called, as in "layer".
        wait: seconds to wait at most for the first result; none where `draw` has something to show without.
    """
    if operations <= FEW:
        draw(at_once())
        return

    def shown(job: jobs.Job) -> None:
        draw(job.items)
        live.bar(key, job, len(job.items), total, {}, work="measurement", step=step, fresh="")

    live.watch(key, shown, live.begin(key, work, wait=wait))
