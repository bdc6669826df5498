"""Time several ways of doing the same thing fairly: in turns, so that whatever else the machine does hits all alike."""

import random
import time
from collections.abc import Callable, Mapping
from statistics import median

import torch

Seconds = dict[str, list[float]]


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int) -> Seconds:
    """Seconds of every call in every round. Each is run once before, and the order is drawn anew every round: what a
    call leaves behind in caches and in the allocator should not always meet the same next one."""
    names, order = list(calls), random.Random(0)
    for name in names:
        calls[name]()
    seconds: Seconds = {name: [] for name in names}
    for _ in range(rounds):
        for name in order.sample(names, len(names)):
            wait()
            start = time.perf_counter()
            calls[name]()
            wait()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def wait() -> None:
    """Until a GPU has done what it was given; a CPU has when the call returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def ratio(seconds: Seconds, name: str, to: str) -> float:
    """Median over the rounds of one call's time over another's in the same round."""
    return median(a / b for a, b in zip(seconds[name], seconds[to], strict=True))


def milliseconds(seconds: Seconds, name: str) -> float:
    """Median time of a call."""
    return 1000 * median(seconds[name])
