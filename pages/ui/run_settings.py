"""What whoever runs the server allows the lab: how many runs at once, with how many threads, and where.

TFCORE_RUNS         runs at once; half the cores, at least 1; 0 closes the lab; with a cluster: its threads
TFCORE_RUN_THREADS  1; threads that torch may use for each run on this machine
TFCORE_SCHEDULER    the address of a Dask scheduler, such as tcp://10.0.0.5:8786; empty: runs are trained here
"""

import os
import re
from dataclasses import dataclass

MOST_RUNS, MOST_THREADS = 1_000, 64
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
    """The settings of now.

    Raises:
        ValueError: a setting that makes no sense, in a sentence that names it.
    """
    scheduler = os.environ.get("TFCORE_SCHEDULER", "").strip()
    if scheduler and not _ADDRESS.fullmatch(scheduler):
        raise ValueError(f"TFCORE_SCHEDULER={scheduler!r} is no address of a scheduler, such as tcp://10.0.0.5:8786")
    here = max(1, (os.cpu_count() or 1) // 2)
    runs = _whole("TFCORE_RUNS", 0, MOST_RUNS, None if scheduler else here)
    return RunSettings(runs, _whole("TFCORE_RUN_THREADS", 1, MOST_THREADS, 1) or 1, scheduler)


def _whole(setting: str, low: int, high: int, default: int | None) -> int | None:
    said = os.environ.get(setting, "").strip()
    if not said:
        return default
    if not said.isascii() or not said.isdigit() or not low <= int(said[:9]) <= high:
        raise ValueError(f"{setting}={said!r} must be a whole number from {low} to {high:,}")
    return int(said)
