"""Numbers out of a pasted table: any usual delimiter, with or without a header, bad rows named instead of hidden."""

import csv
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

DELIMITERS = "\t;,"
LARGEST = 1e15  # beyond it, float64 no longer tells neighbouring whole numbers apart


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a pasted table.

    Args:
        names: of all columns, from the header, or "column 1" ... where there is none.
        index: of the column that was read.
        values: its numbers, in order.
        skipped: (line, what stands there) of the rows without a number in this column.
    """

    names: tuple[str, ...]
    index: int
    values: Float[ndarray, " time"]
    skipped: tuple[tuple[int, str], ...]


def read_column(text: str, index: int | None = None) -> Column:
    """Read one column of numbers from CSV text.

    The delimiter is whichever of tab, semicolon and comma stands in the first line with text; with one of the first
    two, a comma inside a number is a decimal comma. The first line is a header if it has no number at all.

    Args:
        text: the table.
        index: of the column; None takes the last one with a number in half of the rows or more (counters and dates come
            first), or else the one with the most numbers.

    Raises:
        ValueError: no number in the column, or no such column.
    """
    rows, decimal_comma = _rows(text)
    if not rows:
        raise ValueError("there is no table yet; paste one number a line, or rows of a CSV file")
    header = all(number(cell, decimal_comma) is None for cell in rows[0][1]) and len(rows) > 1
    body = rows[1:] if header else rows
    width = max(len(cells) for _, cells in rows)
    given = rows[0][1] if header else []
    names = tuple((given[i].strip() if i < len(given) else "") or f"column {i + 1}" for i in range(width))
    if index is None:
        found = [sum(number(_cell(cells, i), decimal_comma) is not None for _, cells in body) for i in range(width)]
        index = max(range(width), key=lambda i: (min(2 * found[i], len(body)), i))
    if not 0 <= index < width:
        raise ValueError(f"there is no column {index + 1}; this table has {width}")
    read = [(line, _cell(cells, index), number(_cell(cells, index), decimal_comma)) for line, cells in body]
    values = np.array([value for *_, value in read if value is not None], dtype=np.float64)
    skipped = tuple((line, cell) for line, cell, value in read if value is None)
    if not len(values):
        raise ValueError(f"no row has a number in {names[index]!r}; choose another column, or paste numbers like 3.5")
    return Column(names, index, values, skipped)


def number(cell: str, decimal_comma: bool = False) -> float | None:
    """The number a cell holds, or None: words, blanks, infinities and numbers beyond 1e15 are none."""
    cell = cell.strip().replace("−", "-")
    if decimal_comma and cell.count(",") == 1 and "." not in cell:
        cell = cell.replace(",", ".")
    try:
        value = float(cell) if "_" not in cell else math.nan
    except ValueError:
        return None
    return value if abs(value) <= LARGEST else None


def _rows(text: str) -> tuple[list[tuple[int, list[str]]], bool]:
    """(line, cells) of every line that is not blank, and whether a comma is a decimal comma."""
    lines = [(i, line) for i, line in enumerate(text.replace("\0", "").splitlines(), start=1) if line.strip()]
    if not lines:
        return [], False
    delimiter = next((d for d in DELIMITERS if d in lines[0][1]), ",")
    rows = [(i, next(csv.reader([line], delimiter=delimiter), [""])) for i, line in lines]
    return rows, delimiter != ","


def _cell(cells: list[str], index: int) -> str:
    return cells[index] if index < len(cells) else ""
