"""An experiment of a page as a program of its own: a Python script or a notebook, made of the source of a function.

A function of `pages/<chapter>/<page>/experiments.py` becomes a program: its imports, its arguments as the page has them
now, its body. What a visitor typed gets into it in one way only, as a Python literal.
"""

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import groupby
from typing import Any, NamedTuple

LINE = 120  # columns of a line
WIDTH = 100  # columns of a literal in it
PAINTED = ("tfcore.figures.theme", "painted")
MODEL = ("model", "tokenizer")  # parameters that `tfcore.load(model_name)` gives
OWN = {
    "model_name": "  # a model of your own: put the path of its folder here",
    "path": "  # a file of your own: put its path here",
}
HOW = """\
An experiment of "Inside the Transformer", with the controls as they were when it was saved. It needs tfcore: after
`pip install .` in the root of the repository it runs from any folder."""

IN_JUPYTER = "A notebook needs two packages more where its kernel runs: `pip install ipykernel nbformat`."


class Program(NamedTuple):
    """The parts of a program, each without an empty line at its ends.

    Args:
        name: of the file, without its ending.
        about: what it shows, in a few sentences.
        imports, helpers, values, body: code. The body ends by giving `shown` its value.
    """

    name: str
    about: str
    imports: str
    helpers: str
    values: str
    body: str


@dataclass(frozen=True)
class Made:
    """An argument of an experiment that another function makes: the page keeps its result, a program calls it.

    Args:
        function: of the experiments of a page, or of tfcore.
        arguments: by name; see `bound`.
    """

    function: Callable[..., Any]
    arguments: dict[str, Any]


def made(function: Callable[..., Any], *args: Any, **values: Any) -> Any:
    """Say how an argument is made, as in `page.experiment(experiments.head, made(experiments.read, name, text), 3)`."""
    return Made(function, bound(function, *args, **values))


def bound(function: Callable[..., Any], *args: Any, **values: Any) -> dict[str, Any]:
    """Arguments by name. A function of `model, tokenizer` or `model` alone is given the model's name in their place,
    which becomes `model_name`."""
    signature = inspect.signature(function)
    names = list(signature.parameters)
    loaded = [name for name in names[:2] if name in MODEL]
    if not loaded:
        return dict(signature.bind(*args, **values).arguments)
    rest = signature.replace(parameters=[signature.parameters[name] for name in names[len(loaded) :]])
    return {"model_name": args[0], **rest.bind(*args[1:], **values).arguments}


def program(experiment: Callable[..., Any], values: Mapping[str, Any]) -> Program:
    """The program that does what `experiment(**values)` does.

    Args:
        values: literals, or what `made` says.

    Raises:
        TypeError: a value that cannot be written down as a literal.
    """
    module = sys.modules[experiment.__module__]
    source, imported = inspect.getsource(experiment), _imported(inspect.getsource(module))
    steps = _Steps()
    steps.add(experiment, values)
    body = _body(source)
    names = _names(body) | _names("\n".join(steps.calls))
    imported |= {function.__name__: (function.__module__, function.__name__) for function in steps.functions(module)}
    if steps.models:
        imported["load"] = ("tfcore", "load")
    helpers: dict[str, str] = {}
    while missing := sorted(name for name in names - set(imported) - set(helpers) if hasattr(module, name)):
        helpers |= {name: _helper(name, getattr(module, name)) for name in missing if name not in steps.values}
        names = set().union(names - set(missing), *(_names(helpers[name]) for name in missing if name in helpers))
    needed = {imported[name] for name in names if name in imported} | {PAINTED}
    told = list(steps.values.values())
    needed |= {(type(part).__module__, type(part).__name__) for value in told for part in _records(value)}
    given = "\n".join(f"{name} = {_given(name, value)}{_note(name, value)}" for name, value in steps.values.items())
    constants = [code for code in helpers.values() if not code.startswith(("def ", "class ", "@"))]
    functions = [code for code in helpers.values() if code.startswith(("def ", "class ", "@"))]
    return Program(
        f"{module.__name__.split('.')[-2]}-{experiment.__name__}".replace("_", "-"),
        inspect.cleandoc(experiment.__doc__ or ""),
        _import_lines(needed),
        "\n\n\n".join(["\n".join(constants), *functions] if constants else functions),
        given,
        "\n".join([*steps.calls, body]),
    )


class _Steps:
    """The assignments before the body of an experiment: values as literals, and the calls that make the others."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.models: dict[str, str] = {}  # the name of a model -> what is put after "model" and "tokenizer"
        self.calls: list[str] = []
        self._made: list[Callable[..., Any]] = []
        self._results: dict[str, Made] = {}  # the arguments of the experiment that calls make
        self._named: list[tuple[Made, str]] = []  # those that have their line already

    def functions(self, module: Any) -> list[Callable[..., Any]]:
        """What is called, and not defined in the module."""
        return [function for function in self._made if function.__module__ != module.__name__]

    def add(self, function: Callable[..., Any], values: Mapping[str, Any]) -> None:
        """Everything that stands before the body of the experiment, under the names of its parameters."""
        loads = [name for name in inspect.signature(function).parameters if name in MODEL]
        self._results = {name: value for name, value in values.items() if isinstance(value, Made)}
        for name, value in values.items():  # first, so that no argument of a call takes one of these names
            if name == "model_name" and loads:
                self._load(value)
            elif name not in self._results:
                self.values[name] = value
        for name, value in self._results.items():
            self.calls.append(f"{name} = {self._call(value)}")
            self._named.append((value, name))

    def _load(self, model_name: str) -> str:
        """Load a model once; returns what is put after "model" and "tokenizer"."""
        if model_name not in self.models:
            end = f"_{len(self.models) + 1}" if self.models else ""
            self.models[model_name] = end
            self.values[f"model_name{end}"] = model_name
            self.calls.append(f"model{end}, tokenizer{end} = load(model_name{end})")
        return self.models[model_name]

    def _call(self, value: Made) -> str:
        """`function(model, tokenizer, text=text)`, after what it needs."""
        self._made.append(value.function)
        loads = [name for name in inspect.signature(value.function).parameters if name in MODEL]
        arguments = dict(value.arguments)
        parts = []
        if loads:
            end = self._load(arguments.pop("model_name"))
            parts = [f"{name}{end}" for name in loads]
        for name, argument in arguments.items():
            if isinstance(argument, Made):
                known = next((known for result, known in self._named if result == argument), None)
                parts.append(f"{name}={known or self._call(argument)}")
            elif name not in self._results and self.values.get(name, argument) == argument:
                self.values[name] = argument
                parts.append(f"{name}={name}")
            else:  # the name stands for another value already
                parts.append(f"{name}={literal(argument)}")
        return _in(f"{value.function.__name__}(", parts, ")")


def _helper(name: str, value: Any) -> str:
    """A function, class or constant of the experiments' module."""
    if inspect.isfunction(value) or inspect.isclass(value):
        return inspect.getsource(value).strip()
    return f"{name} = {literal(value)}"


def script(parts: Program) -> str:
    """The program as a Python script, which writes its figure into a file."""
    top = f'"""{parts.about}\n\n{HOW}\nThe figure is written to {parts.name}.html.\n"""\n\n{parts.imports}'
    if parts.helpers:  # as the formatter has it: two empty lines before a function, one before a constant
        top += "\n" * (3 if parts.helpers.startswith(("def ", "class ", "@")) else 2) + f"{parts.helpers}\n"
    code = [top, parts.values, f'{parts.body}\nprint(shown)\npainted(shown.figure).write_html("{parts.name}.html")\n']
    return "\n\n".join(part for part in code if part)


def notebook(parts: Program) -> str:
    """The program as a Jupyter notebook (nbformat 4.5), which shows its figure."""
    codes = [parts.imports, parts.helpers, parts.values, f"{parts.body}\nprint(shown)\npainted(shown.figure)"]
    words = {
        "cell_type": "markdown",
        "id": "about",
        "metadata": {},
        "source": _lines(f"{parts.about}\n\n{HOW}\n\n{IN_JUPYTER}"),
    }
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"code-{i}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": _lines(code),
        }
        for i, code in enumerate(filter(None, codes))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": [words, *cells], "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}
    return json.dumps({**book, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


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
        return _in("(", [literal(part) for part in value], ")", comma=len(value) == 1)
    if isinstance(value, list):
        return _in("[", [literal(part) for part in value], "]")
    if isinstance(value, dict):
        return _in("{", [f"{literal(key)}: {literal(part)}" for key, part in value.items()], "}")
    if is_dataclass(value) and not isinstance(value, type):
        return _in(f"{type(value).__name__}(", [f"{k}={literal(v)}" for k, v in _told(value).items()], ")")
    raise TypeError(f"{type(value).__name__} cannot be written as a literal; give the experiment what it is made from")


def _given(name: str, value: object) -> str:
    """A literal after `name = `; a text between brackets where it has a line of its own."""
    if not isinstance(value, str) or len(quoted := _quoted(value)) + 4 > LINE:
        return literal(value)
    return quoted if len(f"{name} = {quoted}") <= LINE else f"(\n    {quoted}\n)"


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


def _in(left: str, parts: list[str], right: str, comma: bool = False) -> str:
    """Parts between brackets, on one line if it is short."""
    line = left + ", ".join(parts) + ("," if comma else "") + right
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return left + "\n" + textwrap.indent("".join(f"{part},\n" for part in parts), "    ") + right


def _told(record: Any) -> dict[str, Any]:
    """Fields of a record that are not at their default."""
    told = {}
    for field in fields(record):
        value = getattr(record, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.init and (default is MISSING or value != default):
            told[field.name] = value
    return told


def _records(value: Any) -> list[Any]:
    """The records in a value: their classes have to be imported."""
    if is_dataclass(value):
        return [value, *(record for part in _told(value).values() for record in _records(part))]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [record for part in parts for record in _records(part)]


def _note(name: str, value: object) -> str:
    return OWN[name] if name == "path" or (name == "model_name" and str(value).startswith(("./", "run:"))) else ""


def _body(source: str) -> str:
    """What a function does, its last line `return X` as `shown = X`."""
    made = ast.parse(source).body[0]
    if not isinstance(made, ast.FunctionDef) or not isinstance(made.body[-1], ast.Return):
        raise TypeError("an experiment is a function that ends by returning what it shows")
    lines = source.splitlines()
    last = made.body[-1].lineno - 1
    lines[last] = lines[last].replace("return ", "shown = ", 1)
    docstring = made.body[0].end_lineno if ast.get_docstring(made) else made.body[0].lineno - 1
    return textwrap.dedent("\n".join(lines[docstring:])).strip()


def _names(source: str) -> set[str]:
    """The names that a piece of code uses and does not make itself."""
    names = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
    made = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names} - made


def _imported(source: str) -> dict[str, tuple[str, str]]:
    """Name -> (module, what is imported of it) of all that a module imports: "load" or "load as read"; for
    `import numpy as np` the second is " as np", for `import json` it is empty."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: (node.module or "", _renamed(one)) for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname or one.name: (one.name, _renamed(one).removeprefix(one.name)) for one in node.names}
    return found


def _renamed(one: ast.alias) -> str:
    return one.name + (f" as {one.asname}" if one.asname else "")


def _group(module: str) -> int:
    """Imports stand in groups: the standard library, other packages, our own."""
    root = module.partition(".")[0]
    return 0 if root in sys.stdlib_module_names else 2 if root == "tfcore" else 1


def _import_lines(needed: set[tuple[str, str]]) -> str:
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
