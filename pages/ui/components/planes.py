"""Points in small planes that can be dragged: with the mouse, a finger or the arrow keys.

Points come in kinds (query, key ...), one of each kind for each token; their order is that of the kinds, and inside a
kind that of the tokens. See planes.js for the browser's half, and dragging.py for what follows a hand.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from pages.ui import keys
from pages.ui.components import assets, dragging

Point = tuple[float, float]
Points = tuple[Point, ...]

LIMIT = 2.0  # coordinates lie in -LIMIT .. LIMIT
STEP = 0.05  # on a grid as fine as the address can say
LONGEST = 2_000  # characters that are looked at; 24 numbers need at most 144
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,9})?")

_component = assets.component("tf_planes", "planes.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """One plane: the words under it, its accessible name, and which kinds of points lie in it."""

    title: str
    label: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A computed point that nobody can drag, in a plane (its index); `title` says what it is."""

    plane: int
    at: Point
    title: str
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A line in a plane, `width` in pixels."""

    plane: int
    start: Point
    end: Point
    width: float


def read(key: str, default: Points) -> Points:
    """The points of control `key`, from the address or the session: always as many as in `default`, always valid.

    What is missing, no number or out of range is replaced by the nearest valid value, and the page says so.
    """
    return dragging.read(key, default, partial(parse, default=default), written)


def parse(text: object, default: Points) -> tuple[Points, bool]:
    """The points that a text such as "1_-0.5_2_0" says, number by number, and whether it said all of them validly."""
    said = text[:LONGEST].split("_") if isinstance(text, str) else []
    wanted = [number for point in default for number in point]
    exact = len(said) == len(wanted)
    numbers = []
    for i, fallback in enumerate(wanted):
        word = said[i] if i < len(said) else ""
        number = float(word) if _NUMBER.fullmatch(word) else math.nan
        valid = fallback if math.isnan(number) else nearest(number)
        exact = exact and math.isclose(number, valid, abs_tol=1e-9)
        numbers.append(valid)
    return tuple(zip(numbers[::2], numbers[1::2], strict=True)), exact


def nearest(number: float) -> float:
    """The coordinate on the grid nearest to a finite number."""
    return round(STEP * round(min(max(number, -LIMIT), LIMIT) / STEP), 2) + 0.0  # + 0.0: no minus zero


def written(points: Points) -> str:
    """How the address says points."""
    return "_".join(f"{number:g}" for point in points for number in point)


def show(
    key: str,
    points: Points,
    *,
    tokens: Sequence[str],
    planes: Sequence[Plane],
    chosen: int | None = None,
    marks: Sequence[Mark] = (),
    lines: Sequence[Link] = (),
    on_move: Callable[[str, int], None] | None = None,
) -> None:
    """Draw the points of control `key`, and take what is dragged.

    Args:
        points: from `read`.
        tokens: one label a token, shown as plain text.
        planes: side by side.
        chosen: the token whose query is drawn strongly.
        marks, lines: what was computed from the points.
        on_move: a callback with the kind and the token of the point that moved; it may call `controls.set_values`.
    """
    kinds = [kind for plane in planes for kind in plane.kinds]
    state = keys.own("planes", key)

    def moved() -> None:
        said = dragging.heard(key, state)
        if said is None:
            return
        now, _ = parse(said.get("points"), points)
        dragging.take(key, written(now))
        kind, token = said.get("kind"), dragging.whole(said.get("token"), len(tokens) - 1)
        if on_move is not None and kind in kinds and token is not None:
            on_move(kind, token)

    _component(
        key=state,
        data={
            "tokens": list(tokens),
            "kinds": kinds,
            "planes": [asdict(plane) for plane in planes],
            "points": [list(point) for point in points],
            "chosen": chosen,
            "limit": LIMIT,
            "step": STEP,
            "marks": [asdict(mark) for mark in marks],
            "links": [{"plane": line.plane, "from": line.start, "to": line.end, "width": line.width} for line in lines],
            "seq": dragging.answered(state),
        },
        on_moved_change=moved,
    )
