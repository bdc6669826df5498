"""Many visitors at once, on pages that compute something for each of them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import md5
from math import ceil
from urllib.parse import quote_plus

from benchmarks.visitors import Visitor

Place = tuple[str, str]  # a path with what the link says, and the key of a slider
# Everyone brings a text of their own, as a class does, so that the caches do not answer for the model.
TEXT = "The dog number {} could not find its ball because it was hidden, so it looked under every tree."


@dataclass(frozen=True, slots=True)
class Answers:
    """What visitors met with.

    Args:
        opening, changes: seconds until a page was there, and until a change was.
        errors: in words.
    """

    opening: list[float]
    changes: list[float]
    errors: list[str]


def place(visitor: int) -> Place:
    """The page and the slider of the visitor with this number: the pages take turns."""
    heads = f"/heads?text={quote_plus(TEXT.format(visitor))}"
    return ((heads, "head"), ("/positions", "start"), ("/parameters", "seq"))[visitor % 3]


def empty(_: int) -> Place:
    """The page that pages are compared with."""
    return "/", "number"


async def crowd(
    address: str,
    n: int,
    changes: int,
    pause: float = 0,
    where: Callable[[int], Place] = place,
    meanwhile: Callable[[], None] = lambda: None,
    first: int = 0,
) -> Answers:
    """n visitors open their pages and then drag all at once; they stay until the last is done.

    Args:
        address: of the server.
        changes: of each visitor.
        pause: seconds a visitor looks at the picture before the next change.
        where: the page and the slider of the visitor with a number.
        meanwhile: called when all are done and still there.
        first: number of the first visitor.
    """
    chosen = [where(number) for number in range(first, first + n)]
    visitors = [Visitor(address + path) for path, _ in chosen]
    opening = await asyncio.gather(*(_open(visitor, first + i) for i, visitor in enumerate(visitors)))
    keys = [key for _, key in chosen]
    starts = range(0, 3 * n, 3)  # of the sliders' places, so that they are not all at the same one
    await asyncio.gather(*(_drag(*who, changes, pause) for who in zip(visitors, keys, starts, strict=True)))
    meanwhile()
    await asyncio.gather(*(visitor.leave() for visitor in visitors))
    return Answers(
        [x for x in opening if x is not None],
        [x for visitor in visitors for x in visitor.seconds],
        [error for visitor in visitors for error in visitor.errors],
    )


async def _open(visitor: Visitor, number: int) -> float | None:
    cookie = md5(str(number).encode(), usedforsecurity=False).hexdigest()  # by which a proxy tells visitors apart
    try:
        return await visitor.open(Cookie=f"replica={cookie}")
    except Exception as problem:
        visitor.errors.append(f"{visitor.address} did not open: {problem!r}")
        return None


async def _drag(visitor: Visitor, key: str, start: int, changes: int, pause: float) -> None:
    try:
        await visitor.drag(key, changes, pause, start)
    except Exception as problem:  # one visitor's trouble is counted, and does not end the others'
        visitor.errors.append(f"{visitor.address}: {problem!r}")


def milliseconds(seconds: Sequence[float], share: float) -> float:
    """The least of the times that so many of them do not exceed; 0 of none."""
    return round(1000 * sorted(seconds)[max(ceil(share * len(seconds)) - 1, 0)], 1) if seconds else 0.0
