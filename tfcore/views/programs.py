"""A view as a program that makes it again: a Python script or a notebook, which call its function with its arguments.

What a visitor typed gets into a program in one way only, as a Python literal.
"""

import inspect
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from tfcore.views.literals import argument, import_lines, lines, note, records
from tfcore.views.view import Made, View

HOW = """\
A view of "Inside the Transformer", with the controls as they were when it was saved. It needs tfcore: after
`pip install .` in the root of the repository it runs from any folder."""
IN_JUPYTER = "A notebook needs two packages more where its kernel runs: `pip install ipykernel nbformat`."


class Program(NamedTuple):
    """The parts of a program.

    Args:
        name: of the file, without its ending.
        about: what it shows.
        imports, call: code; the call gives `shown` its value.
    """

    name: str
    about: str
    imports: str
    call: str


def program(view: View) -> Program:
    """The program that makes a view.

    Raises:
        ValueError: a view that does not know how it was made.
        TypeError: an argument that cannot be written as a literal.
    """
    if view.made is None:
        raise ValueError(f"the view {view.key!r} does not know how it was made; decorate its function with @view")
    return program_of(view.made)


def program_of(made: Made) -> Program:
    """The program of a call, which need not have been made.

    Raises:
        TypeError: an argument that cannot be written as a literal.
    """
    function, arguments = made.function, made.arguments
    needed = {(function.__module__, function.__name__)}
    needed |= {(type(one).__module__, type(one).__name__) for value in arguments.values() for one in records(value)}
    parts = [f"    {name}={_argument(name, value)}" for name, value in arguments.items()]
    given = "\n".join(["", *parts, ""]) if parts else ""
    call = f"shown = {function.__name__}({given})"
    return Program(_name(made), inspect.cleandoc(function.__doc__ or ""), import_lines(needed), call)


def name_of(view: View) -> str:
    """The name of the files that a view is written to: its subject and its function."""
    return _name(view.made) if view.made else view.key


def _name(made: Made) -> str:
    subject = made.function.__module__.removeprefix("tfcore.views.").split(".")[:2][-1]
    return f"{subject}-{made.function.__name__}".replace("_", "-")


def _argument(name: str, value: Any) -> str:
    """An argument behind its `=`, with the comma and what there is to say of it."""
    code = argument(name, value, depth=4).replace("\n", "\n    ")
    return f"{code},{note(name, value)}"


def script(parts: Program) -> str:
    """The program as a Python script, which writes its picture into a file."""
    about = f'"""{parts.about}\n\n{HOW}\nThe picture is written to {parts.name}.html.\n"""'
    show = f'print(shown)\nshown.save("{parts.name}.html")\n'
    return f"{about}\n\n{parts.imports}\n\n{parts.call}\n{show}"


def notebook(parts: Program) -> str:
    """The program as a Jupyter notebook (nbformat 4.5), which shows its picture."""
    return book(f"{parts.about}\n\n{HOW}\n\n{IN_JUPYTER}", [parts.imports, f"{parts.call}\nprint(shown)\nshown"])


class Words(str):
    """A cell of words (Markdown) in a notebook."""


def book(words: str, codes: Sequence[str]) -> str:
    """A notebook of one cell of words (Markdown) and cells of code, among which `Words` are others of words."""
    about = {"cell_type": "markdown", "id": "about", "metadata": {}, "source": lines(words)}
    cells = [_cell(i, one) for i, one in enumerate(codes)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": [about, *cells], "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}
    return json.dumps({**whole, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cell(place: int, source: str) -> dict[str, Any]:
    if isinstance(source, Words):
        return {"cell_type": "markdown", "id": f"words-{place}", "metadata": {}, "source": lines(source)}
    run: dict[str, Any] = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": f"code-{place}", "metadata": {}, **run, "source": lines(source)}
