"""An experiment of a page as a program of its own: a Python script or a notebook, made of the source of a function.

A function of `pages/<chapter>/<page>/experiments.py` becomes a program: its imports, its arguments as the page has them
now, its body. What a visitor typed gets into it in one way only, as a Python literal.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tfcore.views.literals import assigned, import_lines, in_brackets, literal, note, records
from tfcore.views.programs import IN_JUPYTER, book

PAINTED = ("tfcore.figures.theme", "painted")
MODEL = ("model", "tokenizer")  # parameters that `tfcore.load(model_name)` gives
HOW = """\
An experiment of "Inside the Transformer", with the controls as they were when it was saved. It needs tfcore: after
`pip install .` in the root of the repository it runs from any folder."""


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
    needed |= {(type(part).__module__, type(part).__name__) for value in told for part in records(value)}
    given = "\n".join(f"{name} = {assigned(name, value)}{note(name, value)}" for name, value in steps.values.items())
    constants = [code for code in helpers.values() if not code.startswith(("def ", "class ", "@"))]
    functions = [code for code in helpers.values() if code.startswith(("def ", "class ", "@"))]
    return Program(
        f"{module.__name__.split('.')[-2]}-{experiment.__name__}".replace("_", "-"),
        inspect.cleandoc(experiment.__doc__ or ""),
        import_lines(needed),
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
        return in_brackets(f"{value.function.__name__}(", parts, ")")


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
    return book(f"{parts.about}\n\n{HOW}\n\n{IN_JUPYTER}", list(filter(None, codes)))


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
