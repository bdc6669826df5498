"""Bars after a change in front of those before it, with both numbers in words: one way for all charts that change."""

from collections.abc import Callable, Sequence
from typing import Any

from tfcore.charts import kit
from tfcore.charts.kit import Part
from tfcore.measures.quantities import percent

WIDE, NARROW = 0.82, 0.5  # of the room of a bar: that of before, and that of now, which stands in it
LONG = 0.3  # of the longest bar, beside it: room for both numbers


def both(before: float, after: float, said: Callable[[float], str] = percent) -> str:
    """Two values in words; one where they are said alike, and where there is nothing to compare with (NaN)."""
    was, now = (said(value) if value == value else "" for value in (before, after))
    return " → ".join(dict.fromkeys(filter(None, (was, now))))


def bars_with_ghosts(
    before: Sequence[float],
    after: Sequence[float],
    labels: Sequence[str],
    colour: str | Sequence[str],
    *,
    names: tuple[str, str] = ("before", "now"),
    said: Callable[[float], str] = percent,
    lying: bool = False,
    **more: Any,
) -> list[Part]:
    """A bar for each label, and behind it the outline of the one before; hovers say both numbers. The layout has
    `barmode="overlay"`.

    Args:
        before, after: NaN where there is nothing to compare with.
        labels: safe for plotly.
        colour: a role, or one for each bar.
        names: of the two in the legend.
        said: a number in words.
        lying: whether bars run to the right.
        more: properties of all parts, such as their axes.
    """
    places = list(range(len(labels)))
    words = [both(was, now, said) for was, now in zip(before, after, strict=True)]
    given: dict[str, Any] = {
        "customdata": [list(pair) for pair in zip(labels, words, strict=True)],
        "hover": "'%{customdata[0]}' %{customdata[1]}",
    }
    outline = "@ink" if not isinstance(colour, str) else colour
    look: Part = {"line": {"color": f"{outline}/0.7", "width": 1.2}}

    def part(values: Sequence[float], name: str, fill: Any, width: float, **other: Any) -> Part:
        along = [None if value != value else float(round(value, 5)) for value in values]  # JSON has no NaN
        x, y = (along, places) if lying else (places, along)
        lies: dict[str, Any] = {"orientation": "h"} if lying else {}
        return kit.bars(x, y, fill, name=name, width=width, **given, **lies, **other, **more)

    return [part(before, names[0], f"{outline}/0.12", WIDE, marker=look), part(after, names[1], colour, NARROW)]


def numbers_beside(before: Sequence[float], after: Sequence[float], words: Sequence[str], **more: Any) -> Part:
    """Words at the right end of each lying bar, or of its ghost where that is longer.

    Args:
        before, after: NaN where there is none of the two.
        more: properties of the part, such as its axes.
    """
    return kit.words(
        [
            float(max(was, now)) if was == was and now == now else was if now != now else now
            for was, now in zip(before, after, strict=True)
        ],
        list(range(len(after))),
        [f" {one}" for one in words],
        "@ink",
        size=11,
        hover=False,
        textposition="middle right",
        cliponaxis=False,
        showlegend=False,
        **more,
    )
