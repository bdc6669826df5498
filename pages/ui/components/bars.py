"""Bars that can be dragged and stay a distribution: with the mouse, a finger or the arrow keys.

Whatever one bar takes, the others give in proportion, so that they sum to 1. The address carries whole numbers, which
are weights: "9000_1000" and "9_1" say the same. Bars stand in one row, or in a table of rows and columns, as the cells
of a joint distribution. See bars.js for the browser's half, and dragging.py for what follows a hand.
"""

import math
import re
from collections.abc import Sequence
from functools import partial

from pages.ui import keys
from pages.ui.components import assets, dragging

Weights = tuple[int, ...]

UNITS = 10_000  # what bars sum to after a drag: one unit is a hundredth of a percent
LONGEST = 400  # characters that are looked at; 16 numbers need at most 95
_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")

_component = assets.component("tf_bars", "bars.js")


def read(key: str, default: Weights) -> Weights:
    """The weights of control `key`, from the address or the session: as many as in `default`, not all of them 0.

    What is missing, no number or out of range is replaced by the nearest valid value, and the page says so.
    """
    return dragging.read(key, default, partial(parse, default=default), written)


def parse(text: object, default: Weights) -> tuple[Weights, bool]:
    """The weights that a text such as "9_1" says, number by number, and whether it said all of them validly."""
    said = text[:LONGEST].split("_") if isinstance(text, str) else []
    exact = len(said) == len(default)
    weights = []
    for i, fallback in enumerate(default):
        word = said[i] if i < len(said) else ""
        number = float(word) if _NUMBER.fullmatch(word) else math.nan
        valid = fallback if math.isnan(number) else min(max(round(number), 0), UNITS)
        exact = exact and number == valid
        weights.append(valid)
    return (tuple(weights), exact) if any(weights) else (default, False)


def written(weights: Weights) -> str:
    """How the address says weights."""
    return "_".join(map(str, weights))


def shares(weights: Weights) -> tuple[float, ...]:
    """Weights as probabilities."""
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def show(
    key: str,
    weights: Weights,
    names: Sequence[str],
    *,
    label: str,
    hue: int,
    height: int,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    top: float = 1.0,
    fixed: bool = False,
) -> None:
    """Draw the weights of control `key`, and take what is dragged.

    Args:
        weights: from `read`; or any, where they are fixed.
        names: one a bar, shown as plain text; in a table they are only said, not written.
        label: the accessible name of all, as in "distribution P".
        hue: the category of the theme that colours them.
        height: of a bar that is full, in pixels.
        rows, columns: the heads of a table, whose bars are given row by row.
        top: the probability of a bar that is full; what is larger can still be dragged to.
        fixed: nobody can drag them.
    """
    state = keys.own("bars", key)

    def moved() -> None:
        said = dragging.heard(key, dragging.event(state))
        if said is not None:
            dragging.take(key, written(parse(said.get("weights"), weights)[0]))

    _component(
        key=state,
        data={
            "names": list(names),
            "weights": list(weights),
            "rows": list(rows),
            "columns": list(columns),
            "label": label,
            "hue": hue,
            "height": height,
            "top": top,
            "units": UNITS,
            "fixed": fixed,
            "seq": dragging.answered(key),
        },
        on_moved_change=moved,
    )
