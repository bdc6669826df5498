"""How many more sessions two replicas carry than one: `python -m benchmarks.replicas`, where nothing else is at work.

Both stand behind nginx, set up as by deploy/replicas.py, and are visited in turns by more and more visitors, each of
whom looks at the picture for a second before the next change. What they carry is the number of sessions at which the
95th percentile of a change reaches the limit, by straight lines between the numbers tried.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks import results
from benchmarks.crowd import crowd, milliseconds
from benchmarks.servers import ROOT, answers, free_port
from deploy.replicas import Replicas, configuration

SESSIONS = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40)
LIMIT, PAUSE, CHANGES = 400.0, 1.0, 20  # milliseconds; seconds; changes of each visitor


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the 95th percentile of a change in milliseconds, by the number of replicas."""

    sessions: int
    p95: dict[str, float]
    errors: list[str]


@contextmanager
def behind_nginx(n: int) -> Iterator[str]:
    """n replicas on free ports: the address of nginx in front of them."""
    replicas, where = Replicas([free_port() for _ in range(n)]), f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        site = configuration(where, replicas.ports)
        Thread(target=replicas.serve, args=(f"http://{where}", site, Path(folder)), daemon=True).start()
        try:
            end = time.monotonic() + 180
            while not answers(where, "/healthz"):
                if time.monotonic() > end:
                    raise RuntimeError(f"{n} replicas did not serve within three minutes")
                time.sleep(0.2)
            yield f"http://{where}"
        finally:
            replicas.stop()


def measure(sessions: Sequence[int] = SESSIONS, changes: int = CHANGES) -> dict[str, Any]:
    """Visit one replica and two in turns, with more visitors each time, until both are slower than the limit."""
    lines: list[Line] = []
    busy = results.busy()
    with behind_nginx(1) as one, behind_nginx(2) as two:
        for address in (one, two):
            asyncio.run(crowd(address, 12, 4, first=10_000))  # every page has been read by every process
        for n in sessions:
            p95, errors = {}, []
            for name, address in {"1": one, "2": two}.items():
                found = asyncio.run(crowd(address, n, changes, PAUSE, first=1000 * n))
                p95[name] = milliseconds(found.changes, 0.95)
                errors += found.errors
            lines.append(Line(n, p95, errors))
            print(lines[-1], file=sys.stderr, flush=True)
            if min(p95.values()) > LIMIT:
                break
    return results.stamped([asdict(line) for line in lines]) | {"busy": busy}


def carried(rows: Sequence[Mapping[str, Any]], replicas: str, limit: float = LIMIT) -> float:
    """Sessions at which the limit is reached; as many as were tried where it never is."""
    below, before = 0.0, 0.0
    for row in rows:
        now = row["p95"][replicas]
        if now > limit:
            return below + (row["sessions"] - below) * (limit - before) / (now - before)
        below, before = row["sessions"], now
    return below


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table, and what each carries."""
    rows = result["rows"]
    one, two = carried(rows, "1"), carried(rows, "2")
    cells = [[str(row["sessions"]), *(f"{row['p95'][name]:.0f}" for name in "12")] for row in rows]
    cells.append(["carried", f"{one:.0f}", f"{two:.0f} ({two / one:.1f} times)"])
    what = f"A change each second from every session; carried: with a p95 of {LIMIT:.0f} ms"
    how = f"other processes that wanted a core: {result['busy']:.0f}"
    return results.table(["sessions", "1 replica, p95 in ms", "2 replicas"], cells, what, result, how)


def main() -> int:
    result = measure()
    results.save("replicas", result)
    results.write_into(ROOT / "README.md", "replicas", table(result))
    print(table(result))
    return any(row["errors"] for row in result["rows"])


if __name__ == "__main__":
    sys.exit(main())
