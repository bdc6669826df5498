"""Whether those who look at a large model slow down who does not: `python -m benchmarks.beside_large`.

One visitor drags a slider on a small page. Meanwhile twenty others open pages of the large model, each with a text of
their own, one after the other without a pause. Quiet times, in which the first is alone, take turns with these, so that
whatever else the machine does is in both.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from statistics import median
from typing import Any
from urllib.parse import quote_plus

from benchmarks import results
from benchmarks.crowd import TEXT, milliseconds
from benchmarks.servers import APP, Server, serving
from benchmarks.visitors import Visitor

VISITORS, ROUNDS, SECONDS = 20, 4, 30.0
SMALL, SLIDER = "/positions", "start"
MODELS = ("stories", "smollm2")
LOOKS = ("heads", "stream", "flow", "information?show=text", "generation", "interventions", "induction", "masks")


def look(model: str, number: int) -> str:
    """The page that is opened as the one with this number: of this model, with a text that nobody had before."""
    page = LOOKS[number % len(LOOKS)]
    return f"/{page}{'&' if '?' in page else '?'}model={model}&text={quote_plus(TEXT.format(number))}"


async def quiet(small: Visitor, seconds: float) -> list[float]:
    """Seconds that each change took, in so many seconds; a change begun is waited for."""
    began, before = time.monotonic(), len(small.seconds)
    while time.monotonic() - began < seconds:
        await small.drag(SLIDER, 1, start=len(small.seconds))
    return small.seconds[before:]


async def beside(small: Visitor, server: Server, model: str, seconds: float, first: int) -> tuple[list[float], int]:
    """The same while VISITORS others open pages, and how many pages they saw; what they began is waited for."""
    end, opened, errors = time.monotonic() + seconds, 0, list[str]()

    async def seat(number: int) -> None:
        nonlocal opened
        while time.monotonic() < end:
            visitor = Visitor(server.address + look(model, number))
            try:
                await visitor.open()
                opened += 1
            except Exception as problem:  # it is counted
                errors.append(repr(problem))
            errors.extend(visitor.errors)
            await visitor.leave()
            number += VISITORS

    seats = [asyncio.create_task(seat(first + number)) for number in range(VISITORS)]
    found = await quiet(small, seconds)
    await asyncio.gather(*seats)
    small.errors += errors
    return found, opened


async def rounds(server: Server, model: str, count: int, seconds: float) -> dict[str, Any]:
    """A row: milliseconds of a change alone and beside the others, in turns, and their ratio."""
    small = Visitor(server.address + SMALL)
    await small.open()
    for number in range(len(LOOKS)):  # modules are imported, and the model is read
        warm = Visitor(server.address + look(model, 10**6 + number))
        await warm.open()
        await warm.leave()
    await quiet(small, 3)
    alone, busy, ratios, pages = list[float](), list[float](), list[float](), 0
    for number in range(count):
        one = await quiet(small, seconds / 3)
        other, opened = await beside(small, server, model, seconds, 10_000 * (number + 1))
        alone, busy, pages = alone + one, busy + other, pages + opened
        ratios.append(round(median(other) / median(one), 2))
    await small.leave()
    return {
        "model": model,
        "alone": milliseconds(alone, 0.5),
        "beside": milliseconds(busy, 0.5),
        "p95": milliseconds(busy, 0.95),
        "worst": milliseconds(busy, 1),
        "ratio": median(ratios),
        "ratios": ratios,
        "pages": pages,
        "errors": small.errors,
    }


def measure(count: int = ROUNDS, seconds: float = SECONDS) -> dict[str, Any]:
    """A row for each model, each on a server of its own."""
    rows, busy = [], results.busy()
    for model in MODELS:
        with serving(APP, "/healthz") as server:
            rows.append(asyncio.run(rounds(server, model, count, seconds)))
            print(rows[-1], file=sys.stderr, flush=True)
    return results.stamped(rows) | {"busy": busy}


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = [
        "20 others open pages of",
        "a change alone, ms",
        "beside them: p50, p95, worst",
        "beside / alone",
        "errors",
    ]
    rows = [
        [
            row["model"],
            f"{row['alone']:.0f}",
            ", ".join(f"{row[name]:.0f}" for name in ("beside", "p95", "worst")),
            f"{row['ratio']:.1f}",
            str(len(row["errors"])),
        ]
        for row in result["rows"]
    ]
    what = "One drags on positions while the others open page after page, each with a text of their own; one process"
    return results.table(heads, rows, what, result, f"other processes that wanted a core: {result['busy']:.0f}")


if __name__ == "__main__":
    sys.exit(results.command("beside_large", __doc__, measure, (2, 10), table))
