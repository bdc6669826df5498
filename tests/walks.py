"""Visitors who walk over all pages of a server: they type first, go on within the same session, and carry their model.

python -m tests.walks 20000               # steps; serves the app with all models there are, prints steps and errors
python -m tests.walks 500 --seed 7 --visitors 1 --minutes 10
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import parse_qsl

from pages.facts import pages
from tests.e2e.serving import PYTHON_APP, serve
from tests.walker import Walker

PAGES = [f"/{key}" for key in pages()]
TASKS = ("copy", "reverse", "addition")
SMALL = "width=16&heads=2&layers=2&rows=4&steps=20&length=3"
TRAIL = 12  # steps on a page before going on, at most
PATIENCE = 600  # seconds without a word from the server: how fast it answers is measured elsewhere
VISIT = 10  # pages of one session, at most


def say(line: str) -> None:
    """Write a line at once, for whoever watches."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass
class Walked:
    """How far all visitors came, and what went wrong, each error with the way that led to it."""

    most: int
    until: float
    steps: int = 0
    errors: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def over(self) -> bool:
        return self.steps >= self.most or time.monotonic() > self.until


async def trained(server: str, task: str) -> str:
    """The name of a model that the lab has trained in a few steps."""
    lab = Walker(f"{server}/lab?task={task}&{SMALL}", patience=PATIENCE)
    await lab.open()
    await lab.press(lab.button("Start"))
    run = ""
    while not run:
        await lab.run()
        run = dict(parse_qsl(lab._query)).get("run", "")
    while "Done: 20 steps" not in lab.progress:
        await lab.run()
    assert lab.errors == [], lab.errors
    await lab.leave()
    return f"run:{run}@20"


async def visit(server: str, models: list[str], random: Random, walked: Walked) -> None:
    """One session: its model in the address first, then trails over some pages."""
    model = random.choice(models)
    first = random.choice(PAGES)
    walker = Walker(f"{server}{first}?model={model}", patience=PATIENCE)
    counted = 0
    try:
        await walker.open()
        for _ in range(VISIT):
            await walker.trail(random, random.randint(1, TRAIL))
            await walker.turn_to(random.choice(walker.pages)[0])
            counted = _count(walker, counted, model, walked)
            if walked.over or walker.errors:
                break
    except Exception as problem:
        walker.errors.append(f"the visit ended: {type(problem).__name__} {problem}")
    finally:
        await walker.leave()
    _count(walker, counted, model, walked)
    if walker.errors:
        walked.errors.append(f"{walker.address}\n  {walker.errors[0]}\n  {' > '.join(walker.way[-14:])}")
        say(f"ERROR {walked.errors[-1]}")


def _count(walker: Walker, counted: int, model: str, walked: Walked) -> int:
    new = len(walker.way) - counted
    walked.steps += new
    walked.kinds[model.partition(":")[0]] += new
    return counted + new


async def walk(server: str, seed: int, visitors: int, walked: Walked) -> None:
    """Visitors beside each other until there were enough steps."""
    models = ["stories", "smollm2", *[await trained(server, task) for task in TASKS]]

    async def one(number: int) -> None:
        visits = 0
        while not walked.over:
            await visit(server, models, Random(f"{seed} {number} {visits}"), walked)
            visits += 1
            if number == 0:
                say(f"{time.strftime('%H:%M:%S')} {walked.steps} steps, {len(walked.errors)} errors")

    await asyncio.gather(*(one(number) for number in range(visitors)))


def main(*given: str, **environment: Any) -> Walked:
    """Walk as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--visitors", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=24 * 60)
    said = parser.parse_args(given)
    walked = Walked(said.steps, time.monotonic() + 60 * said.minutes)
    with serve(*PYTHON_APP, **environment) as server:
        asyncio.run(walk(server, said.seed, said.visitors, walked))
    say(f"seed {said.seed}: {walked.steps} steps {dict(walked.kinds)}, {len(walked.errors)} errors")
    return walked


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:]).errors))
