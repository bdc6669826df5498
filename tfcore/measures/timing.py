"""Times: of a run that is made several times, where it was measured, and how it is written."""

import time
from collections.abc import Callable, Generator

import torch

from tfcore.measures.quantities import counted


def on_cpu() -> str:
    """The conditions of a measurement on the CPU, in words: threads, version of torch and data type."""
    threads = torch.get_num_threads()
    return f"{counted(threads, 'CPU thread')}, torch {torch.__version__}, float32"


def seconds_of(run: Callable[[], object]) -> float:
    """Seconds that one run takes, without gradients, on the CPU."""
    with torch.inference_mode():
        began = time.perf_counter()
        run()
        return time.perf_counter() - began


def repeated(timed: Callable[[], float], repeats: int, spent: float) -> Generator[None, None, list[float]]:
    """The seconds of several runs; yields after each, where the work can be stopped.

    Args:
        timed: makes one run and returns its seconds.
        repeats: runs at most.
        spent: seconds after which no other begins.
    """
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < spent:
        seconds.append(timed())
        yield
    return seconds


def milliseconds(seconds: float) -> str:
    """A time in milliseconds, with three digits that count."""
    thousands = 1e3 * seconds
    return f"{thousands:,.0f} ms" if thousands >= 999.5 else f"{thousands:.3g} ms"
