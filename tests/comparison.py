"""Two results compared as two processors come to them: words exactly, numbers but for what rounding decides."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

# In Markdown, too, where signs are escaped
NUMBER = re.compile(r"\d(?:[\d,]|\\,(?=\d))*(?:\\?\.\d+)?(?:e\\?[+-]?\d+)?")
SHARE = re.compile(r"[\s\\]*%(?![\dA-F]{2})")  # after a number; in addresses other signs are written so
HEAD = re.compile(r"\bheads?[ *]{1,3}$")  # before a number
NEAR = 2e-3  # results of two processors differ by less
FLOAT32 = 1.2e-7  # of float32 beside 1, which differs from processor to processor


def distinct(parts: Iterable[list[Any]]) -> list[list[Any]]:
    """Parts that differ from each other by more than half of what results of two processors may differ by: on another
    processor some others may be left, and each is still like one of these."""
    found: dict[tuple[float, int], list[list[Any]]] = {}  # by their words and length
    for part in parts:
        alike = found.setdefault((part[0], len(part)), [])
        if not any(are_alike(part, known, NEAR / 2) for known in alike):
            alike.append(part)
    return [part for alike in found.values() for part in alike]


def differences(found: Any, known: Any, near: float = NEAR) -> list[str]:
    """Where two results differ, as "path: found, not known". Numbers may differ by the fraction `near`."""
    return list(_differences(found, known, "", near))


def are_alike(found: Any, known: Any, near: float = NEAR) -> bool:
    """Whether they do not differ."""
    return next(_differences(found, known, "", near), None) is None


def says_the_same(one: str, other: str) -> bool:
    """Texts that are the same, but for what rounding decides of their numbers."""
    one, other = _whole_cells(one, other)
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.finditer(one), NUMBER.finditer(other), strict=True)
    return all(
        a[0] == b[0] if _is_name(one, a) else _near(a[0], b[0], bool(SHARE.match(one, a.end()))) for a, b in pairs
    )


def _differences(found: Any, known: Any, path: str, near: float) -> Iterator[str]:
    if isinstance(found, dict) and isinstance(known, dict):
        for key in dict.fromkeys([*known, *found]):
            yield from _differences(found.get(key), known.get(key), f"{path}/{key}", near)
        return
    if isinstance(found, list) and isinstance(known, list) and len(found) == len(known):
        for i, (a, b) in enumerate(zip(found, known, strict=True)):
            if a != b and not _is_mean_beside_its_spread(found, known, i, near):
                yield from _differences(a, b, f"{path}/{i}", near)
        return
    if isinstance(found, float | int) and isinstance(known, float | int):
        same = found == known if _is_count(found) and _is_count(known) else _close(found, known, near)
    elif isinstance(found, str) and isinstance(known, str):
        same = says_the_same(found, known)
    else:
        same = found == known
    if not same:
        yield f"{path}: {found!r}, not {known!r}"


def _is_count(number: float) -> bool:
    """Whether a number is whole and none that was rounded to five digits: a count, or the checksum of words."""
    return float(number).is_integer() and (
        abs(number) < 1e4 or (abs(number) < 2**32 and float(f"{number:.5g}") != number)
    )


def _is_mean_beside_its_spread(found: list[Any], known: list[Any], i: int, near: float) -> bool:
    """Whether what stands at i is the mean of as many numbers as stand before it, and is off by little of their spread,
    which stands behind it: near 0, a mean is what rounding has left of numbers that cancel."""
    parts = [*found[i - 1 : i + 2], *known[i - 1 : i + 2]] if i else []
    if len(parts) != 6 or not all(isinstance(part, float | int) for part in parts):
        return False
    n, mean, spread, as_many, other, _ = parts
    return n == as_many > 1 and _is_count(n) and abs(mean - other) <= near * abs(spread)


def _close(found: float, known: float, near: float) -> bool:
    return abs(found - known) <= max(near * max(abs(found), abs(known)), FLOAT32)


def _whole_cells(one: str, other: str) -> tuple[str, str]:
    """Two rows of cells that were cut at the same length, without what a number of other digits has moved there."""
    cells = one.split("|")[:-1], other.split("|")[:-1]
    both = ["|".join(row[: min(map(len, cells))]) for row in cells]
    return (both[0], both[1]) if len(one) == len(other) and len(both[0]) != len(both[1]) else (one, other)


def _is_name(text: str, number: re.Match[str]) -> bool:
    """Whether a number is the name of a head, 2.3, which the head beside it does not have."""
    return HEAD.search(text, 0, number.start()) is not None


def _near(one: str, other: str, share: bool) -> bool:
    """Printed numbers that differ by at most one unit of the last digit, of the one with fewer digits. Whole numbers,
    but for percentages, are counts: the same. What is written as a power of ten below 1e-4 is a rounding error, and of
    any size."""
    (a, one_unit), (b, other_unit) = _read(one), _read(other)
    if "e" in one and "e" in other and max(a, b) < 1e-4:
        return True
    if not share and one_unit == other_unit == 1:
        return a == b
    return abs(a - b) <= max(1.01 * max(one_unit, other_unit), NEAR * a)


def _read(text: str) -> tuple[float, float]:
    """A printed number, and one unit of its last digit."""
    plain = text.replace(",", "").replace("\\", "")
    digits, _, exponent = plain.partition("e")
    return float(plain), 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def unmatched(found: Any, known: Any) -> list[str]:
    """Where two records differ, but for the order and the number of parts that are alike."""
    return [f"{line} is new" for line in lacking(known, found)] + [f"{line} is gone" for line in lacking(found, known)]


def lacking(found: Any, wanted: Any, path: str = "") -> list[str]:
    """What of `wanted`, a record, is like no part of `found`, as "path: part"."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return [line for key in wanted for line in lacking(found.get(key, []), wanted[key], f"{path}/{key}")]
    return [f"{path}: {part!r}" for part in _without(wanted, found)]


def _without(parts: list[Any], others: list[Any]) -> list[Any]:
    """Those parts that are like none of the others."""
    there = {repr(other) for other in others}
    left = [part for part in parts if repr(part) not in there]
    return [part for part in left if not any(are_alike(part, other) for other in others)]
