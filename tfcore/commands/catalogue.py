"""All views by the names that a command line calls them, as in `heads.portrait`, and their arguments as options."""

import inspect
import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from tfcore import views
from tfcore.commands.values import type_name
from tfcore.views.sources import Reading, Source
from tfcore.views.view import SO_FAR, View

Drawing = Callable[..., View]
RARE = ("part", "bos", "hide_sink")
REQUIRED = inspect.Parameter.empty
NAME = re.compile(r"^( *)([a-z_]\w*(?:, [a-z_]\w*)*): (.*)")
OF_READING = {
    "model": "a name, such as smollm2, a folder, a GGUF file, or a name on the hub",
    "text": "- for that of the standard input, which is also read where there is none",
    "part": "whose attention is meant; the last that the model has",
    "bos": "whether the token that says that a text begins stands before it; as its tokenizer does",
    "hide_sink": "whether attention leaves out the first token, and divides the rest by its sum",
}


@dataclass(frozen=True, slots=True)
class Option:
    """An argument of a view on the command line.

    Args:
        name: after the dashes.
        parameter: of the function.
        field: of the Reading that the parameter takes; empty where it takes another value.
        hint: the type of the value.
        default: REQUIRED where there is none.
        help: what the function says of it.
    """

    name: str
    parameter: str
    field: str
    hint: Any
    default: Any
    help: str

    @property
    def type_name(self) -> str:
        """The type of its value, in a few signs."""
        return type_name(Source if self.is_model else self.hint)

    @property
    def is_model(self) -> bool:
        """Whether it names a model."""
        return self.parameter == "model" or self.hint == Source

    @property
    def is_rare(self) -> bool:
        """Whether it says how a text is read, which every view with one takes."""
        return self.field in RARE

    @property
    def usage(self) -> str:
        """As a command has it, in brackets where it can be left out."""
        said = f"--{self.name} {self.type_name}"
        return said if self.default is REQUIRED else f"[{said}]"


@cache
def subject(name: str) -> dict[str, Drawing]:
    """The views of a subject by their own names.

    Raises:
        ValueError: there is no such subject.
    """
    known = views.subjects()
    if name not in known:
        raise ValueError(
            f"there is no subject {name!r}{_nearest(name, [*known])}; there are {', '.join(sorted(known))}"
        )
    own = {key: one for key, one in vars(import_module(known[name])).items() if _is_view(one, known[name])}
    return dict(sorted(own.items()))


def drawing(name: str) -> Drawing:
    """The view that is called SUBJECT.NAME.

    Raises:
        ValueError: there is none.
    """
    of, _, own = name.partition(".")
    known = subject(of)
    if own not in known:
        raise ValueError(f"there is no view {own!r} of {of}{_nearest(own, [*known])}; there are {', '.join(known)}")
    return known[own]


def summary(function: Any) -> str:
    """The first sentence of a docstring, or all of its first paragraph."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


@cache
def options(function: Drawing) -> tuple[Option, ...]:
    """The arguments of a view. A Reading is one for each of its fields; of a second one they begin with its name, and
    left out they are those of the first."""
    parameters = inspect.signature(function).parameters
    said, types = _arguments_said(function), get_type_hints(inspect.unwrap(function))
    found, is_first = list[Option](), True
    for name, parameter in parameters.items():
        if name == SO_FAR:
            continue
        if types[name] is Reading:
            found += _of_reading(name, is_first, parameters)
            is_first = False
        else:
            words = said.get(name) or OF_READING.get(name, "")
            found.append(Option(_dashed(name), name, "", types[name], parameter.default, words.rstrip(".")))
    return tuple(found)


def together(values: Iterable[tuple[Option, Any]]) -> dict[str, Any]:
    """The arguments of a function, of the values of its options: those of a Reading put together. What a second one
    does not say is that of the first."""
    found, readings = dict[str, Any](), dict[str, dict[str, Any]]()
    for one, value in values:
        place, key = (readings.setdefault(one.parameter, {}), one.field) if one.field else (found, one.parameter)
        place[key] = value
    first: dict[str, Any] = next(iter(readings.values()), {})
    return found | {parameter: Reading(**{**first, **said}) for parameter, said in readings.items()}


def _of_reading(parameter: str, is_first: bool, others: Container[str]) -> Iterator[Option]:
    """Its fields; one that is called as another argument of the view begins with its name as well."""
    types = get_type_hints(Reading)
    for field, given in inspect.signature(Reading).parameters.items():
        longer = _dashed(f"{parameter}_{field}")
        if is_first:
            name = longer if field in others else _dashed(field)
            yield Option(name, parameter, field, types[field], given.default, OF_READING[field])
        else:
            words = f"of {parameter}; left out, that of --{_dashed(field)}"
            yield Option(longer, parameter, field, types[field], None, words)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _is_view(value: Any, module: str) -> bool:
    """Whether a value in the module of a subject is a view of that subject."""
    is_own = inspect.isfunction(value) and f"{value.__module__}.".startswith(f"{module}.")
    return is_own and hasattr(value, "__wrapped__") and inspect.signature(value).return_annotation is View


def _arguments_said(function: Drawing) -> dict[str, str]:
    """What the docstring says of each argument: "name, name: words" below "Args:", with the lines that go on."""
    found, names, depth = dict[str, str](), list[str](), 0
    for line in (inspect.getdoc(function) or "").partition("Args:\n")[2].splitlines():
        if not line.startswith(" "):
            break
        if (begins := NAME.match(line)) and (not names or len(begins[1]) <= depth):
            depth, names = len(begins[1]), begins[2].split(", ")
            found |= dict.fromkeys(names, begins[3])
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def _nearest(name: str, known: list[str]) -> str:
    nearest = get_close_matches(name, known, 1)
    return f" (do you mean {nearest[0]}?)" if nearest else ""
