"""Whether two replicas carry twice the sessions of one: `python -m benchmarks.replicas`, by root, on two idle cores.

Each replica may use a share of a core, as a container with a limit, so that two of them, nginx and the visitors fit on
two cores. One and two stand behind nginx, set up as by deploy/replicas.py. Visitors drag without a pause, twice as many
where there are twice the replicas: two carry twice as many if nobody waits longer then.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks import results
from benchmarks.crowd import crowd, milliseconds
from benchmarks.quota import held_to
from benchmarks.servers import answers, free_port
from deploy.replicas import Replicas, configuration

SESSIONS = (4, 8, 16)  # for each replica
SHARE = 0.4  # of a core, for each replica
CHANGES = 16  # of each visitor


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table.

    Args:
        sessions: for each replica.
        p50, p95: milliseconds of a change, by the number of replicas.
        errors: of all.
    """

    sessions: int
    p50: dict[str, float]
    p95: dict[str, float]
    errors: list[str]


@contextmanager
def behind_nginx(n: int) -> Iterator[str]:
    """n replicas on free ports, each with its share of a core: the address of nginx in front of them."""
    replicas, where = Replicas([free_port() for _ in range(n)]), f"127.0.0.1:{free_port()}"
    with ExitStack() as shares, tempfile.TemporaryDirectory() as folder:
        site = configuration(where, replicas.ports)
        Thread(target=replicas.serve, args=(f"http://{where}", site, Path(folder)), daemon=True).start()
        try:
            end = time.monotonic() + 180
            while not answers(where, "/healthz"):
                if time.monotonic() > end:
                    raise RuntimeError(f"{n} replicas did not serve within three minutes")
                time.sleep(0.2)
            for process in replicas.running.values():
                shares.enter_context(held_to(SHARE, process.pid))
            yield f"http://{where}"
        finally:
            replicas.stop()


def measure(sessions: Sequence[int] = SESSIONS, changes: int = CHANGES) -> dict[str, Any]:
    """Visit one replica, and two with twice as many visitors, in turns."""
    lines: list[Line] = []
    busy = results.busy()
    with behind_nginx(1) as one, behind_nginx(2) as two:
        for address in (one, two):
            asyncio.run(crowd(address, 12, 4, first=10_000))  # every page has been read by every process
        for each in sessions:
            line = Line(each, {}, {}, [])
            for n, address in {1: one, 2: two}.items():
                found = asyncio.run(crowd(address, n * each, changes, first=1000 * each))
                line.p50[str(n)] = milliseconds(found.changes, 0.5)
                line.p95[str(n)] = milliseconds(found.changes, 0.95)
                line.errors.extend(found.errors)
            lines.append(line)
            print(line, file=sys.stderr, flush=True)
    return results.stamped([asdict(line) for line in lines]) | {"busy": busy}


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = [
        *("sessions per replica", "1 replica, a change, ms: p50, p95", "2 replicas, twice the sessions"),
        "p50, 2 replicas / 1",
    ]
    cells = [
        [
            str(row["sessions"]),
            *(f"{row['p50'][n]:.0f}, {row['p95'][n]:.0f}" for n in "12"),
            f"{row['p50']['2'] / row['p50']['1']:.2f}",
        ]
        for row in result["rows"]
    ]
    what = (
        f"All drag without a pause, as above, behind nginx, each replica held to {SHARE:g} of a core by a control group"
    )
    how = f"other processes that wanted a core: {result['busy']:.0f}"
    return results.table(heads, cells, what, result, how)


def main() -> int:
    result = measure()
    results.save("replicas", result)
    results.write_into(results.PAGE, "replicas", table(result))
    print(table(result))
    return any(row["errors"] for row in result["rows"])


if __name__ == "__main__":
    sys.exit(main())
