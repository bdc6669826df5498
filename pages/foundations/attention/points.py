"""Points that are dragged, as the address says them: whatever it says, they are valid."""

import math
import re
from functools import partial

from pages.ui.components import dragging

Point = tuple[float, float]
Points = tuple[Point, ...]

LIMIT = 2.0  # coordinates lie in -LIMIT .. LIMIT
STEP = 0.05  # on a grid as fine as the address can say
LONGEST = 2_000  # characters that are looked at; 24 numbers need at most 144
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,9})?")


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
