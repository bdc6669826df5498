"""Values, calls and imports as Python code, for the programs that are given away."""

import re
import sys
import textwrap
from dataclasses import MISSING, fields, is_dataclass
from itertools import groupby
from typing import Any

SUPPLY = "  # supply your own: the model and the tokenizer that tfcore.load returns"
LINE = 120  # columns of a line
WIDTH = 100  # columns of a literal in it
OWN = {
    "model_name": "  # a model of your own: put the path of its folder here",
    "model": "  # a model of your own: put the path of its folder here",
    "path": "  # a file of your own: put its path here",
}


def literal(value: object) -> str:
    """Python code for a value: a number, a text, a tuple, list or dict of these, or a frozen record, whose fields are
    named where they are not at their default.

    Raises:
        TypeError: anything else.
    """
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "e") if abs(value) < float("inf") else f'float("{value}")'
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return in_brackets("(", [literal(part) for part in value], ")", comma=len(value) == 1)
    if isinstance(value, list):
        return in_brackets("[", [literal(part) for part in value], "]")
    if isinstance(value, dict):
        return in_brackets("{", [f"{literal(key)}: {literal(part)}" for key, part in value.items()], "}")
    if is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    raise TypeError(f"{type(value).__name__} cannot be written as a literal; give the experiment what it is made from")


def argument(name: str, value: object, depth: int) -> str:
    """A literal after `name=`, on a line of its own that begins `depth` columns from the left; a text too long for it
    stands between brackets."""
    if not isinstance(value, str):
        return literal(value)
    quoted = _quoted(value)
    if depth + len(f"{name}={quoted},") <= LINE:
        return quoted
    return f"(\n    {quoted}\n)" if depth + 4 + len(quoted) <= LINE else _text(value)


def _quoted(text: str) -> str:
    """A text in double quotes, unless single ones need fewer escapes."""
    if '"' not in text:
        return '"' + repr("'" + text)[2:]
    if text.count('"') > text.count("'"):
        return repr(text)
    return '"' + repr(text)[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def _text(text: str) -> str:
    """A text on one line, or on several that Python puts together, broken between words."""
    if len(_quoted(text)) <= WIDTH:
        return _quoted(text)
    pieces = re.findall(rf"[^\n]{{1,{WIDTH - 20}}}(?:[ \n]|$)|[^\n]{{1,{WIDTH - 20}}}|\n", text)
    return "(\n" + "\n".join(f"    {_quoted(piece)}" for piece in pieces) + "\n)"


def in_brackets(left: str, parts: list[str], right: str, comma: bool = False) -> str:
    """Parts between brackets, on one line if it is short."""
    line = left + ", ".join(parts) + ("," if comma else "") + right
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return left + "\n" + textwrap.indent("".join(f"{part},\n" for part in parts), "    ") + right


def _record(record: Any) -> str:
    """A record with the fields that are not at their default; one a line where one of them has a note."""
    told, name = _told(record), f"{type(record).__name__}("
    parts = [f"{key}={argument(key, value, depth=8)}" for key, value in told.items()]
    notes = [note(key, value) for key, value in told.items()]
    if not any(notes):
        return in_brackets(name, parts, ")")
    return "\n".join([name, *(f"    {part},{noted}" for part, noted in zip(parts, notes, strict=True)), ")"])


def _told(record: Any) -> dict[str, Any]:
    """Fields of a record that are not at their default."""
    told = {}
    for field in fields(record):
        value = getattr(record, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.init and (default is MISSING or value != default):
            told[field.name] = value
    return told


def records(value: Any) -> list[Any]:
    """The records in a value, whose classes have to be imported."""
    if is_dataclass(value):
        return [value, *(record for part in _told(value).values() for record in records(part))]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [record for part in parts for record in records(part)]


def note(name: str, value: object) -> str:
    """A comment behind a value that has to be replaced elsewhere; empty behind others."""
    if name == "model" and value is None:
        return SUPPLY
    is_own = name in ("model_name", "model") and str(value).startswith(("./", "run:"))
    return OWN[name] if name == "path" or is_own else ""


def lines(text: str) -> list[str]:
    """A text line by line, as a notebook has it."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _group(module: str) -> int:
    """Imports stand in groups: the standard library, other packages, our own."""
    root = module.partition(".")[0]
    return 0 if root in sys.stdlib_module_names else 2 if root == "tfcore" else 1


def import_lines(needed: set[tuple[str, str]]) -> str:
    """The imports, in groups, and in each `import x` before `from x import y`."""
    whole = {(module, name) for module, name in needed if not name or name.startswith(" as ")}
    lines = [(_group(module), 0, module, f"import {module}{name}") for module, name in whole]
    for module in {module for module, _ in needed - whole}:
        names = sorted((name for of, name in needed - whole if of == module), key=_order)
        line = f"from {module} import {', '.join(names)}"
        if len(line) > LINE:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
        lines.append((_group(module), 1, module, line))
    groups = groupby(sorted(lines), key=lambda line: line[0])
    return "\n\n".join("\n".join(line for *_, line in group) for _, group in groups)


def _order(name: str) -> tuple[bool, bool, str]:
    """As ruff sorts them: CONSTANTS, Classes, functions."""
    return not name.isupper(), not name[:1].isupper(), name
