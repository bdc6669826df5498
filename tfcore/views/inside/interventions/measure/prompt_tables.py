"""Tables of prompts: read from CSV, written to it, and made from templates with slots."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

COLUMNS = ("clean", "corrupted", "answer", "wrong")
MOST_PROMPTS = 64
LEAST_PROMPTS = 2  # of fewer there is no interval
MOST_CHARACTERS = 400  # of a text
ANSWER_CHARACTERS = 40


class PromptRow(NamedTuple):
    """A row of the table; answers with the space before them."""

    clean: str
    corrupted: str
    answer: str
    wrong: str


def read_prompts(text: str) -> tuple[PromptRow, ...]:
    """The prompts of a CSV table whose first row names its columns: clean, corrupted, answer, wrong.

    Raises:
        ValueError: another heading, a row that is not whole, too many rows, or texts that are empty or too long; the
            message names the row.
    """
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text.strip("\ufeff \r\n")), strict=True) if any(map(str.strip, row))
        ]
    except csv.Error as problem:
        raise ValueError(f"this is no CSV table ({problem}); put texts with commas in double quotes") from None
    if not rows or tuple(name.strip().lower() for name in rows[0]) != COLUMNS:
        raise ValueError(f"the first row must name the columns: {','.join(COLUMNS)}")
    if not LEAST_PROMPTS <= len(rows) - 1 <= MOST_PROMPTS:
        raise ValueError(f"the table has {len(rows) - 1} prompts; it needs {LEAST_PROMPTS} to {MOST_PROMPTS}")
    return tuple(_prompt(place, row) for place, row in enumerate(rows[1:], 1))


def _prompt(place: int, row: Sequence[str]) -> PromptRow:
    """A row that is whole and short enough."""
    if len(row) != len(COLUMNS):
        raise ValueError(f"row {place} has {len(row)} columns; it needs {len(COLUMNS)}: {', '.join(COLUMNS)}")
    for name, value in zip(COLUMNS, row, strict=True):
        most = ANSWER_CHARACTERS if name in ("answer", "wrong") else MOST_CHARACTERS
        if not value.strip():
            raise ValueError(f"row {place} has nothing under {name!r}")
        if len(value) > most:
            raise ValueError(f"row {place} has {len(value)} characters under {name!r}; {most} are possible")
    return PromptRow(*row)


def written_prompts(prompts: Sequence[PromptRow]) -> str:
    """The table as CSV, as `read_prompts` reads it."""
    place = io.StringIO()
    table = csv.writer(place, lineterminator="\r\n")  # a carriage return in a cell is quoted only so
    table.writerow(COLUMNS)
    table.writerows(prompts)
    return place.getvalue()


def filled(
    template: str, corrupted: str, answer: str, wrong: str, slots: Sequence[Mapping[str, str]]
) -> tuple[PromptRow, ...]:
    """One prompt for each row of `slots`: {name} in the four templates becomes its value.

    Raises:
        ValueError: a template names a slot that a row lacks.
    """
    try:
        return tuple(PromptRow(*(one.format_map(row) for one in (template, corrupted, answer, wrong))) for row in slots)
    except (KeyError, IndexError) as problem:
        raise ValueError(f"there is no slot {problem} to fill a template with") from None


_NAMES = ("Mary", "John", "Tom", "Anna")
_CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Japan": "Tokyo",
    "Russia": "Moscow",
    "Egypt": "Cairo",
}
_THINGS = ("ball", "hat", "car", "book", "doll", "bed")  # one token each, in stories and in smollm2
_COLOURS = ("red", "blue", "big")

TEMPLATES: dict[str, tuple[PromptRow, ...]] = {
    "names (IOI)": filled(
        "When {a} and {b} went to the store, {b} gave a drink to",
        "When {a} and {b} went to the store, {a} gave a drink to",
        " {a}",
        " {b}",
        [{"a": a, "b": b} for a, b in permutations(_NAMES, 2)],
    ),
    "capitals": filled(
        "The capital of {country} is",
        "The capital of {other} is",
        " {city}",
        " {wrong}",
        [
            {"country": a, "city": _CAPITALS[a], "other": b, "wrong": _CAPITALS[b]}
            for a, b in zip(_CAPITALS, [*list(_CAPITALS)[1:], next(iter(_CAPITALS))], strict=True)
        ],
    ),
    "genders": filled(
        "There was a little {one}. One day, {name} said that",
        "There was a little {other}. One day, {name} said that",
        " {answer}",
        " {wrong}",
        [
            {"name": name, "one": one, "other": other, "answer": answer, "wrong": wrong}
            for name in ("Sam", "Max", "Sue", "Tim")
            for one, other, answer, wrong in (("boy", "girl", "he", "she"), ("girl", "boy", "she", "he"))
        ],
    ),
    "copies": filled(
        "Max had a {colour} {thing}. One day Max lost the {colour}",
        "Max had a {colour} {other}. One day Max lost the {colour}",
        " {thing}",
        " {other}",
        [
            {"colour": colour, "thing": a, "other": b}
            for colour in _COLOURS
            for a, b in zip(_THINGS[::2], _THINGS[1::2], strict=True)
        ],
    ),
}
