"""What varied use takes of memory: `python -m benchmarks.varied`, or with `--minutes 60` for an hour of ten visitors.

Visitors come one after the other, a few at a time: each brings a text of their own to one page, sets controls of it at
random, and leaves. The server's memory is read after so many visits. In an hour, a third of them look at each of the
two real models, where these are; `--small` leaves them out.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks import results
from benchmarks.crowd import milliseconds
from benchmarks.servers import APP, ROOT, Server, serving
from benchmarks.visitors import Visitor, numbers
from pages.ui.server import previews

VISITS = (50, 200, 400)
AT_ONCE, MOVES = 4, 10  # visitors; changes of each
ROOM = 10  # visitors at once in an hour
MODELS = ("", "smollm2", "minilm")  # that links name in turn; the first: each page's own
TEXT = "The {} dog number {} could not find its ball because it was hidden, so the {} looked under every tree."
WORDS = ("old", "tired", "cat", "little", "girl", "king", "happy", "fox", "river", "wizard", "small", "boy")


@dataclass(slots=True)
class Wanderer(Visitor):
    """Somebody who tries whatever controls there are.

    Args:
        controls: id -> its path, the fragment it stands in, and every value that it may be given.
    """

    controls: dict[str, tuple[tuple[int, ...], str, list[WidgetState]]] = field(default_factory=dict)

    async def wander(self, dice: random.Random, moves: int) -> None:
        """Set controls at random, one after the other, waiting for each answer."""
        for _ in range(moves if self.controls else 0):
            _, fragment, states = self.controls[dice.choice(sorted(self.controls))]
            state = dice.choice(states)
            self._said[state.id] = state
            self.seconds.append(await self._ask(fragment))

    def _note(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "new_session":  # what this run draws again is told again
            again = set(message.metadata.run.fragment_ids)
            self.controls = {
                key: one
                for key, one in self.controls.items()
                if again and not any(self.stands_in(one[0], fragment) for fragment in again)
            }
        if message.WhichOneof("type") == "delta" and (states := values(message.delta.new_element)):
            path = tuple(message.metadata.delta_path)
            self.controls[states[0].id] = (path, message.delta.fragment_id, states)
        return Visitor._note(self, message)


def values(element: Any) -> list[WidgetState]:
    """What a control may be told: none of one that is no choice, or cannot be used."""
    kind = element.WhichOneof("type") or ""
    shown: Any = getattr(element, kind, None)
    if kind not in ("slider", "selectbox", "button_group", "checkbox") or shown.disabled:
        return []
    made = []
    if kind == "slider":
        places = list(shown.options) or numbers(shown.min, shown.max, shown.step)
        name = "string_array_value" if shown.options else "double_array_value"
        for place in places:
            made.append(state := WidgetState(id=shown.id))
            getattr(state, name).data.extend([places[0], place] if len(shown.default) == 2 else [place])
    elif kind == "button_group":
        for option in shown.options:
            made.append(state := WidgetState(id=shown.id))
            state.string_array_value.data.append(option.content)
    elif kind == "selectbox":
        made = [WidgetState(id=shown.id, string_value=option) for option in shown.options]
    else:
        made = [WidgetState(id=shown.id, bool_value=value) for value in (True, False)]
    return made


async def visits(server: Server, first: int, last: int) -> list[str]:
    """The visitors with these numbers, AT_ONCE at a time: what went wrong."""
    numbers, errors = iter(range(first, last)), list[str]()

    async def seat() -> None:
        for number in numbers:
            visitor = await visit(server, number)
            errors.extend(visitor.errors)

    await asyncio.gather(*(seat() for _ in range(AT_ONCE)))
    return errors


async def visit(server: Server, number: int, model: str = "") -> Wanderer:
    """One visitor, the same whenever a visitor has this number; the pages take turns.

    Args:
        model: that the link names.
    """
    dice = random.Random(number)
    one, other = dice.choices(WORDS, k=2)
    pages = sorted(previews.pages())
    where = f"{server.address}/{pages[number % len(pages)]}?text={quote_plus(TEXT.format(one, number, other))}"
    where += f"&model={model}" if model else ""
    visitor = Wanderer(where)
    try:
        await visitor.open()
        await visitor.wander(dice, MOVES)
    except Exception as problem:  # one visitor's trouble is counted, and does not end the others'
        visitor.errors.append(f"{where}: {problem!r}")
    await visitor.leave()
    return visitor


def measure(steps: Sequence[int] = VISITS) -> dict[str, Any]:
    """Memory after so many visits."""
    rows, done = [], 0
    with serving(APP, "/healthz") as server:
        before = server.megabytes()
        for n in steps:
            errors = asyncio.run(visits(server, done, n))
            rows.append({"visits": n, "megabytes": server.megabytes(), "errors": errors})
            print(rows[-1], file=sys.stderr, flush=True)
            done = n
        troubles = server.troubles()
    return results.stamped(rows) | {"before": before, "troubles": troubles}


def sentence(result: Mapping[str, Any]) -> str:
    """What came out, in words."""
    held = ", ".join(f"{row['megabytes']:,.0f} MB after {row['visits']} visits" for row in result["rows"])
    errors = sum(len(row["errors"]) for row in result["rows"])
    return (
        f"{result['before']:.0f} MB when the default model answers; {held}, each with a text of its own and {MOVES} "
        f"changes of any controls, over all pages in turn, {errors} errors ({result['machine']['cores']} cores, "
        f"{result['date']})."
    )


async def room(server: Server, minutes: float, models: Sequence[str]) -> list[dict[str, Any]]:
    """A row for every minute: memory at its end and at its highest, visitors so far, and what they met with."""
    start, numbers = time.monotonic(), iter(range(1_000_000))
    end, rows, seconds, errors, visitors = start + 60 * minutes, list[dict[str, Any]](), list[float](), list[str](), 0

    async def seat() -> None:
        nonlocal visitors
        while time.monotonic() < end:
            number = next(numbers)
            visitor = await visit(server, number, models[number // len(previews.pages()) % len(models)])
            seconds.extend(visitor.seconds)
            errors.extend(visitor.errors)
            visitors += 1

    async def watch() -> None:
        while (now := time.monotonic()) < end:
            server.forget_peak()
            await asyncio.sleep(min(60, end - now))
            row = {"minutes": round((time.monotonic() - start) / 60, 1), "megabytes": server.megabytes()}
            row |= {"peak": server.peak(), "visitors": visitors, "p50": milliseconds(seconds, 0.5)}
            rows.append(row | {"changes": len(seconds), "errors": list(errors)})
            print(rows[-1], file=sys.stderr, flush=True)
            seconds.clear()
            errors.clear()

    await asyncio.gather(watch(), *(seat() for _ in range(ROOM)))
    return rows


def hour(minutes: float, small: bool) -> dict[str, Any]:
    """Memory of a server that ten visitors wander about in, for so many minutes."""
    # Without a setting they are looked for beside the app.
    folder = "" if small else str(ROOT / "models")
    with serving(APP, "/healthz", TFCORE_REAL_MODELS=folder) as server:
        rows = asyncio.run(room(server, minutes, MODELS[:1] if small else MODELS))
        troubles = server.troubles()
    return results.stamped(rows) | {"troubles": troubles, "small": small}


def told(result: Mapping[str, Any]) -> str:
    """What came out of it, in words."""
    rows = result["rows"]
    errors, changes = sum(len(row["errors"]) for row in rows), sum(row["changes"] for row in rows)
    peak = max(row["peak"] for row in rows)
    return (
        f"{'The small models alone' if result['small'] else 'With both real models'}: {rows[-1]['minutes']:.0f} "
        f"minutes, {ROOM} at once, {rows[-1]['visitors']} visitors in turn over all pages, {changes:,} changes, "
        f"{errors} errors: {rows[-1]['megabytes']:,.0f} MB at the end, {peak:,.0f} MB at the highest "
        f"({result['machine']['cores']} cores, {result['date']})."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.varied", description=__doc__)
    parser.add_argument("--minutes", type=float, help="ten visitors for so long, instead of so many visits")
    parser.add_argument("--small", action="store_true", help="without the two real models")
    given = parser.parse_args()
    if given.minutes:
        name, result = "hour_small" if given.small else "hour", hour(given.minutes, given.small)
        words = told(result)
    else:
        name, result = "varied", measure()
        words = sentence(result)
    results.save(name, result)
    results.write_into(results.PAGE, name, words)
    print(words)
    return bool(result["troubles"])


if __name__ == "__main__":
    sys.exit(main())
