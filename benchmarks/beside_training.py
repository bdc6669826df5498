"""What a training costs who looks at other pages: a visitor drags a slider, alone and while a run of the lab trains.

Both are measured on one server, one after the other, and every round has a server of its own. A training must not make
a change take more than twice as long.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import results
from benchmarks.crowd import milliseconds
from benchmarks.servers import APP, serving
from benchmarks.visitors import Visitor

PLACES = {"information": ("/information", "n"), "positions": ("/positions", "start")}
ROUNDS = {"information": 5, "positions": 5}
LAB = "/lab?steps=16000"  # longer than a visitor drags
CHANGES, WARM, PATIENCE = 80, 20, 120.0


@dataclass(frozen=True, slots=True)
class Beside:
    """One page.

    Args:
        p50, p95: milliseconds of a change, "alone" and "training": medians over the rounds.
        slower, slower_p95: "training" over "alone" of the same round, median over the rounds.
        errors: in words.
    """

    page: str
    p50: dict[str, float]
    p95: dict[str, float]
    slower: float
    slower_p95: float
    errors: list[str]


def measure(rounds: Mapping[str, int] | None = None, device: str = "cpu") -> list[Beside]:  # noqa: ARG001 - of the server
    """Every page, alone and beside a training."""
    return [_page(page, n) for page, n in (rounds or ROUNDS).items()]


def _page(page: str, rounds: int) -> Beside:
    found, errors = [], []
    for _ in range(rounds):
        with serving(APP, "/healthz", TFCORE_RUNS="1") as server:
            seconds, problems = asyncio.run(one_round(server.address, *PLACES[page]))
        found.append(seconds)
        errors += problems
    p50, p95 = ([{k: milliseconds(v, q) for k, v in one.items()} for one in found] for q in (0.5, 0.95))
    return Beside(
        page,
        {name: median(one[name] for one in p50) for name in p50[0]},
        {name: median(one[name] for one in p95) for name in p95[0]},
        round(median(one["training"] / one["alone"] for one in p50), 2),
        round(median(one["training"] / one["alone"] for one in p95), 2),
        errors,
    )


async def one_round(
    address: str, path: str, slider: str, changes: int = CHANGES
) -> tuple[dict[str, list[float]], list[str]]:
    """Seconds of each change, alone and beside a training; and what went wrong."""
    visitor, lab = Visitor(address + path), Visitor(address + LAB)
    await visitor.open()
    await visitor.drag(slider, WARM)
    seconds = {}
    for name in ("alone", "training"):
        if name == "training":
            await lab.open()
            await training(lab)
        visitor.seconds.clear()
        await visitor.drag(slider, changes)
        seconds[name] = list(visitor.seconds)
    await lab.look()
    if "Training" not in lab.progress:
        lab.errors.append(f"the run was no longer training at the end: {lab.progress}")
    await visitor.leave()
    await lab.leave()
    return seconds, visitor.errors + lab.errors


async def training(lab: Visitor) -> None:
    """Until the run that a page shows has made its first steps.

    Raises:
        RuntimeError: it did not in time.
    """
    end = time.monotonic() + PATIENCE
    while "Training: step" not in lab.progress or "step 0 of" in lab.progress:
        if time.monotonic() > end:
            raise RuntimeError(f"no run was training; the page says {lab.progress!r}")
        await asyncio.sleep(0.5)
        await lab.look()


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["page", "a change beside a training / alone: p50, p95", "ms alone: p50, p95", "ms beside: p50, p95"]
    rows = [
        [
            row["page"],
            f"{row['slower']:.2f}, {row['slower_p95']:.2f}",
            *(f"{row['p50'][name]:.0f}, {row['p95'][name]:.0f}" for name in ("alone", "training")),
        ]
        for row in result["rows"]
    ]
    what = "A visitor drags a slider without a pause, alone and while one run of the lab trains"
    return results.table(heads, rows, what, result, "each round on a server of its own, medians over the rounds")
