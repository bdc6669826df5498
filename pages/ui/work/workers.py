"""Where runs are trained: processes of this machine, or a Dask cluster. Both are a `concurrent.futures.Executor`."""

import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from pages.ui.work.run_settings import RunSettings

PATIENCE = 10.0  # seconds until a cluster must have answered


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers that train slices.

    Args:
        executor: takes them.
        places: how many can be trained at once.
        close: ends the executor.
        recover: makes the executor notice a process that is gone.
    """

    executor: Executor
    places: Callable[[], int]
    close: Callable[[], None]
    recover: Callable[[], None] = lambda: None


def connect(settings: RunSettings) -> Workers:
    """The workers that the settings ask for.

    Raises:
        OSError, ImportError: there is no such cluster, or Dask is not installed.
    """
    return (
        cluster(settings.scheduler, settings.runs)
        if settings.scheduler
        else local(settings.runs or 1, settings.threads)
    )


def local(runs: int, threads: int) -> Workers:
    """Processes of this machine, started when there is something to do.

    They are spawned: a fork of a process with torch's threads may hang.
    """
    from tfcore.training.lab.worker import prepare  # here, because it imports torch

    pool = ProcessPoolExecutor(runs, mp_context=WithoutMain(), initializer=prepare, initargs=(threads,))

    def recover() -> None:
        # Of a process that was killed while it sent a result, the pool waits for the rest, which never comes, nor does
        # the end: this process holds a copy of the pipe's writing end. Without it the pool reads the end, and breaks.
        writer = getattr(getattr(pool, "_result_queue", None), "_writer", None)
        if writer is not None:
            writer.close()

    return Workers(pool, lambda: runs, lambda: pool.shutdown(wait=True, cancel_futures=True), recover)


def cluster(address: str, runs: int | None) -> Workers:
    """The workers of a Dask cluster, which need the same code and the same requirements."""
    from distributed import Client  # optional: see requirements-dask.txt

    client: Any = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    executor: Executor = client.get_executor(pure=False)

    def places() -> int:
        return runs if runs is not None else max(1, sum(client.nthreads().values()))

    def close() -> None:
        executor.shutdown(wait=False)
        client.close()

    return Workers(executor, places, close)


# ---- spawning without the main script ----


class _Process(SpawnProcess):
    """A spawned process that does not run the server's main script (or, under Streamlit, a page) once more."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - the name that multiprocessing gave it
        with _no_main():
            return SpawnProcess._Popen(process_obj)


class WithoutMain(SpawnContext):
    """Spawns such processes, also where a page has run before."""

    Process = _Process


_MAIN = threading.Lock()


@contextmanager
def _no_main() -> Iterator[None]:
    """Replace `__main__` by an empty module for a moment: multiprocessing has a new process import it."""
    with _MAIN:
        before, blank = sys.modules["__main__"], types.ModuleType("__main__")
        sys.modules["__main__"] = blank
        try:
            yield
        finally:
            if sys.modules.get("__main__") is blank:  # Streamlit may have put its own there meanwhile
                sys.modules["__main__"] = before
