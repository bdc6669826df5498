"""Settings of the lab: how many runs at once, with how many threads, and where.

TFCORE_RUNS         runs at once; half the cores, at least 1; 0 closes the lab; with a cluster: its threads
TFCORE_RUN_THREADS  1; threads that torch may use for each run on this machine
TFCORE_SCHEDULER    the address of a Dask scheduler, such as tcp://10.0.0.5:8786; empty: runs are trained here
"""

import os
import re
from dataclasses import dataclass

from pages.ui.server.settings import whole

MOST_RUNS = 1_000
MOST_THREADS = 64
_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[\w.\-\[\]:]{1,200}:\d{1,5}")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings, checked.

    Args:
        runs: at once; None with a cluster means as many as it has threads.
        threads: for each, on this machine.
        scheduler: address of a Dask scheduler; "" means this machine.
    """

    runs: int | None
    threads: int
    scheduler: str


def read() -> RunSettings:
    """The settings as the environment says them now.

    Raises:
        ValueError: a setting that makes no sense, in a sentence that names it.
    """
    scheduler = os.environ.get("TFCORE_SCHEDULER", "").strip()
    if scheduler and not _ADDRESS.fullmatch(scheduler):
        raise ValueError(f"TFCORE_SCHEDULER={scheduler!r} is no address of a scheduler, such as tcp://10.0.0.5:8786")
    here = max(1, (os.cpu_count() or 1) // 2)
    is_open = scheduler and not os.environ.get("TFCORE_RUNS", "").strip()
    runs = None if is_open else whole("TFCORE_RUNS", here, 0, MOST_RUNS, "number of runs at once")
    return RunSettings(runs, whole("TFCORE_RUN_THREADS", 1, 1, MOST_THREADS, "number of threads"), scheduler)
