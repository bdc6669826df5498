"""Ten visitors at a time: they come, drag, leave and are followed by others, and memory must not grow."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from benchmarks import results
from benchmarks.crowd import crowd, milliseconds
from benchmarks.servers import APP, Server, serving

VISITORS, STAY, PAUSE = 10, 60, 1.0  # at once; changes of each before another comes; seconds between two
SETTLED = 1 / 6  # of the time, after which everything that is read once has been read


@dataclass(slots=True)
class Log:
    """What happened until now.

    Args:
        rows: one for every minute: how far it is, the server's megabytes, and what visitors met with in it.
        seconds, errors: of the minute that runs.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visitors: int = 0

    def minute(self, minutes: float, server: Server) -> None:
        """Close a minute."""
        p50, p95 = (milliseconds(self.seconds, share) for share in (0.5, 0.95))
        row = {"minutes": round(minutes, 2), "megabytes": server.megabytes(), "p50": p50, "p95": p95}
        self.rows.append(row | {"changes": len(self.seconds), "errors": self.errors, "visitors": self.visitors})
        self.seconds, self.errors = [], []


async def visit(server: Server, log: Log, end: float, seat: int) -> None:
    """One seat in the room, on which one visitor sits after the other; what they met with is noted when they leave."""
    number = seat
    while time.monotonic() < end:
        answers = await crowd(server.address, 1, STAY, PAUSE, first=number)
        log.seconds += answers.changes
        log.errors += answers.errors
        log.visitors += 1
        number += VISITORS


async def watch(server: Server, log: Log, start: float, end: float) -> None:
    """Take note once a minute."""
    while (now := time.monotonic()) < end:
        await asyncio.sleep(min(60, end - now))
        log.minute((time.monotonic() - start) / 60, server)
        print(log.rows[-1], file=sys.stderr, flush=True)


async def room(server: Server, minutes: float) -> Log:
    log, start = Log(), time.monotonic()
    end = start + 60 * minutes
    await asyncio.gather(watch(server, log, start, end), *(visit(server, log, end, seat) for seat in range(VISITORS)))
    return log


def measure(minutes: float) -> dict[str, Any]:
    """Ten visitors at any time, for so many minutes."""
    with serving(APP, "/healthz") as server:
        log = asyncio.run(room(server, minutes))
        troubles = server.troubles()
    return results.stamped(log.rows) | {"troubles": troubles}


def growth(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Mean megabytes of the first and of the last third of the time, once everything had been read."""
    settled = rows[int(SETTLED * len(rows)) :]
    third = max(len(settled) // 3, 1)
    megabytes = [row["megabytes"] for row in settled]
    return mean(megabytes[:third]), mean(megabytes[-third:])


def sentence(result: Mapping[str, Any]) -> str:
    """What came out, in words."""
    rows = result["rows"]
    first, last = growth(rows)
    changes, errors = sum(row["changes"] for row in rows), sum(len(row["errors"]) for row in rows)
    worst = max(row["p95"] for row in rows)
    return (
        f"{rows[-1]['minutes']:.0f} minutes, {VISITORS} sessions at any time, {rows[-1]['visitors']} visitors in turn, "
        f"{changes:,} changes, {errors} errors: {first:.0f} MB in the first third after everything was read "
        f"once, {last:.0f} MB in the last; p95 of the slowest minute {worst:.0f} ms ({result['date']})."
    )
