"""How the app holds up under many visitors: `python -m benchmarks.load`, or with `--soak 60` for an hour.

A server of the app and one of an empty page run side by side and are visited in turns, by 1, 10, 25 and 50 visitors
who drag without a pause. The numbers go to benchmarks/results/ and docs/benchmarks.md.
"""

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import results, soak
from benchmarks.crowd import crowd, empty, milliseconds, place
from benchmarks.servers import APP, EMPTY, Server, serving

SESSIONS = (1, 10, 25, 50)
CHANGES = 240  # of all visitors together, in one step
GONE = 240.0  # seconds after which memory has to be back: Streamlit keeps a session for two minutes after it broke off


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the table.

    Args:
        sessions: visitors at once.
        p50, p95: milliseconds of a change, on the pages and on an empty one.
        opening: milliseconds until the page is there, when all come at once; the median.
        changes, errors: how many there were, of all.
        before, there, after: megabytes of the server before the visitors came, while they were there, when they left.
        back: seconds until its memory was within a tenth of what it was.
    """

    sessions: int
    p50: float
    p95: float
    empty_p50: float
    empty_p95: float
    opening: float
    changes: int
    errors: list[str]
    before: float
    there: float
    after: float
    back: float


def step(app: Server, bare: Server, n: int, changes: int, first: int, patience: float) -> Step:
    """n visitors on the empty page, then n on the pages; then wait for the memory to come back."""
    each = max(changes // n, 8)
    nothing = asyncio.run(crowd(bare.address, n, each, where=empty))
    before, there = app.megabytes(), [math.nan]
    full = asyncio.run(crowd(app.address, n, each, first=first, meanwhile=lambda: there.append(app.megabytes())))
    after, back = wait_for_memory(app, before, patience)
    return Step(
        sessions=n,
        p50=milliseconds(full.changes, 0.5),
        p95=milliseconds(full.changes, 0.95),
        empty_p50=milliseconds(nothing.changes, 0.5),
        empty_p95=milliseconds(nothing.changes, 0.95),
        opening=milliseconds(full.opening, 0.5),
        changes=len(full.changes),
        errors=full.errors + nothing.errors,
        before=before,
        there=there[-1],
        after=after,
        back=back,
    )


def wait_for_memory(server: Server, before: float, patience: float) -> tuple[float, float]:
    """Megabytes when they are within a tenth of what they were, or when patience ends; and the seconds that took."""
    start = time.monotonic()
    while (now := server.megabytes()) > 1.1 * before and time.monotonic() - start < patience:
        time.sleep(1)
    return now, round(time.monotonic() - start, 1)


def warm(app: Server, bare: Server) -> None:
    """Every page has been visited once: modules are imported and the model has been read."""
    asyncio.run(crowd(bare.address, 1, 8, where=empty))
    asyncio.run(crowd(app.address, 3, 8, first=10_000, where=place))


def measure(sessions: Sequence[int] = SESSIONS, changes: int = CHANGES, patience: float = GONE) -> dict[str, Any]:
    """Steps with more and more visitors; each brings texts that no other step has."""
    steps: list[Step] = []
    busy = results.busy()
    with serving(APP, "/healthz") as app, serving(EMPTY, "/_stcore/health") as bare:
        warm(app, bare)
        for n in sessions:
            steps.append(step(app, bare, n, changes, 1000 * len(steps), patience))
            print(steps[-1], file=sys.stderr, flush=True)
        troubles = app.troubles() + bare.troubles()
    rows = [asdict(line) for line in steps]
    return results.stamped(rows) | {"troubles": troubles, "busy": busy}


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = [
        *("sessions", "a change, ms: p50, p95", "empty page, ms: p50, p95", "p50 / empty page", "changes, errors"),
        *("MB: before, with them, after", "MB per session"),
    ]
    rows = []
    for row in result["rows"]:
        memory = ", ".join(f"{row[name]:.0f}" for name in ("before", "there", "after"))
        rows.append(
            [
                str(row["sessions"]),
                f"{row['p50']:.0f}, {row['p95']:.0f}",
                f"{row['empty_p50']:.0f}, {row['empty_p95']:.0f}",
                f"{row['p50'] / row['empty_p50']:.1f}",
                f"{row['changes']}, {len(row['errors'])}",
                memory,
                f"{max(row['there'] - row['before'], 0) / row['sessions']:.1f}",
            ]
        )
    what = "All drag without a pause on heads, positions and parameters, each with a text of their own, one process"
    return results.table(heads, rows, what, result, f"other processes that wanted a core: {result['busy']:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="ten visitors for so long, instead of the steps")
    parser.add_argument("--quick", action="store_true", help="fewer visitors, and nothing is kept")
    given = parser.parse_args()
    if given.soak:
        result, name, words = soak.measure(given.soak), "soak", soak.sentence
    else:
        result, name, words = measure((1, 5), 40, 10) if given.quick else measure(), "load", table
    if not given.quick:
        results.save(name, result)
        results.write_into(results.PAGE, name, words(result))
    print(words(result))
    errors = [error for row in result["rows"] for error in row["errors"]] + result["troubles"]
    print("\n".join(errors), file=sys.stderr)
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
