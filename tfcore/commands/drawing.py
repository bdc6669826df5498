"""`list` and `view`: the views there are, and one of them, made of what is typed."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, get_args

from tfcore import views
from tfcore.charts.theme import Theme
from tfcore.commands import PROGRAM, Parser, catalogue
from tfcore.commands.catalogue import REQUIRED, Drawing, Option
from tfcore.commands.values import read, record_help
from tfcore.loading.checkpoints import load
from tfcore.loading.weights import LoadProgress
from tfcore.views import sources
from tfcore.views.sources import Reading, name_of, opened
from tfcore.views.view import View, ending_of

LONGEST_TEXT = 1_000_000  # bytes that are read of the standard input
STANDARD_INPUT = "-"
SAID = {True: "yes", False: "no"}
OF_ALL = f"""A view of a text takes --part, --bos and --hide-sink as well: {PROGRAM} list SUBJECT explains them all.
What stands in brackets can be left out."""
PLACES = ("layer", "head")  # arguments that count from 0 within a model


# ---- what there is ----


def listed(subject: str | None) -> str:
    """All views in a line each, by subject; or those of one subject, with what they show and what their arguments are.

    Raises:
        ValueError: there is no such subject.
    """
    if subject is not None:
        return "\n\n".join(_described(f"{subject}.{name}", one) for name, one in catalogue.subject(subject).items())
    return "\n\n".join([*map(_of_subject, views.subjects()), OF_ALL])


def _of_subject(subject: str) -> str:
    lines = [_line(f"  {subject}.{name}", one) for name, one in catalogue.subject(subject).items()]
    about = catalogue.summary(import_module(views.subjects()[subject]))
    return "\n".join([f"{subject}: {about}", *lines])


def _line(name: str, function: Drawing) -> str:
    return " ".join([name, *(one.usage for one in catalogue.options(function) if not one.is_rare)])


def _described(name: str, function: Drawing) -> str:
    said = [(one.usage, _explained(one)) for one in catalogue.options(function)]
    width = max((len(usage) for usage, _ in said), default=0)
    lines = [f"  {usage:{min(width, 40)}}  {words}".rstrip() for usage, words in said]
    return "\n".join([f"{name}: {catalogue.summary(function)}", *lines])


def _explained(option: Option) -> str:
    """What is said of an argument, of the fields of its records, and of its default."""
    default = "" if option.default in (REQUIRED, None, "") else f"by default {SAID.get(option.default, option.default)}"
    return "; ".join(filter(None, (option.help, record_help(option.hint), default)))


# ---- one view ----


def parser_of(name: str) -> Parser:
    """The parser of the command of a view, whose options are the arguments of its function.

    Raises:
        ValueError: there is no such view.
    """
    function = catalogue.drawing(name)
    parser = Parser(prog=f"{PROGRAM} view {name}", description=catalogue.summary(function), allow_abbrev=False)
    parser.add_argument("-o", "--file", metavar="FILE", help="its ending says what: svg, png, html, csv, json or txt")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="write the table to the standard output, as CSV")
    form.add_argument("--json", action="store_true", help="write all of it to the standard output, as JSON")
    parser.add_argument("--theme", choices=get_args(Theme), default="light", help="of a picture")
    for option in catalogue.options(function):
        is_flag = bool in (option.hint, *get_args(option.hint))
        words = _explained(option).replace("%", "%%")
        more: dict[str, Any] = {"nargs": "?", "const": "yes"} if is_flag else {}
        parser.add_argument(f"--{option.name}", dest=option.name, metavar=option.type_name, help=words, **more)
    return parser


def drawn(name: str, typed: Sequence[str]) -> str:
    """Make a view, write it to a file where one is named, and return what belongs on the standard output.

    Args:
        name: SUBJECT.NAME.
        typed: the arguments behind it.

    Raises:
        ValueError: what is wrong with them, in a sentence.
    """
    given = vars(parser_of(name).parse_args(typed))
    if given["file"] is not None:
        ending_of(given["file"])
    shown = made(name, given)
    if given["file"] is not None:
        shown.save(given["file"], given["theme"])
    return shown.csv() if given["csv"] else f"{shown.json()}\n" if given["json"] else f"{shown}\n"


def made(name: str, typed: Mapping[str, str | None]) -> View:
    """The view of a name, of the values that texts say.

    Args:
        typed: name of an option -> text; None where it was left out.

    Raises:
        ValueError: see `drawn`.
    """
    function = catalogue.drawing(name)
    arguments = _arguments(name, catalogue.options(function), typed)
    _check_places(arguments)
    try:
        return function(**arguments)
    except (ValueError, OSError):
        raise
    except Exception as problem:  # an index that is too large, deep within what is measured
        said = f"{type(problem).__name__}: {problem}"
        words = (
            f"{name} cannot be made of these arguments ({said}); {PROGRAM} list {name.partition('.')[0]} explains them"
        )
        raise ValueError(words) from problem


def tell_of_loading(write: Callable[[str], None]) -> None:
    """Say on one line of a terminal how far a model is that is downloaded or loaded; at its end the line is empty."""

    def tell(progress: LoadProgress) -> None:
        words = f"{progress.stage} {progress.done / max(progress.total, 1):.0%}"
        write(f"\r{words}" + "\b \b" * len(words) * (progress.done >= progress.total))

    sources.use(lru_cache(maxsize=2)(partial(load, tell=tell)))


def _arguments(name: str, options: Sequence[Option], typed: Mapping[str, str | None]) -> dict[str, Any]:
    """The arguments of the function: a value for each option that was typed, and those of a Reading put together."""
    texts = {one.name: _typed(one, typed.get(one.name)) for one in options}
    needed = [one for one in options if one.default is REQUIRED and texts[one.name] is None]
    if needed:
        missing = ", ".join(f"--{one.name} {one.type_name}" for one in needed)
        raise ValueError(f"{name} needs {missing}; {PROGRAM} view {name} --help explains them")
    return catalogue.together((one, _value(one, text)) for one in options if (text := texts[one.name]) is not None)


def _value(option: Option, text: str) -> Any:
    try:
        return read(text, option.hint)
    except ValueError as problem:
        raise ValueError(f"--{option.name}: {problem}") from problem


def _typed(option: Option, text: str | None) -> str | None:
    """What was typed for an option; the standard input for a text that is "-", or that is needed and not there."""
    if option.name == "text" and (text == STANDARD_INPUT or (text is None and option.default is REQUIRED)):
        return _standard_input() if text == STANDARD_INPUT or not sys.stdin.isatty() else None
    if text is not None and not _is_unicode(text):
        raise ValueError(f"--{option.name} is no text in UTF-8")
    return text


def _is_unicode(text: str) -> bool:
    """Whether it has none of the halves of signs in which Python keeps bytes that are no text."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _standard_input() -> str:
    """All of it, without the end of its last line."""
    content = sys.stdin.buffer.read(LONGEST_TEXT + 1)
    if len(content) > LONGEST_TEXT:
        raise ValueError(f"the standard input has more than {LONGEST_TEXT:,} bytes; give a shorter text")
    try:
        text = content.decode()
    except UnicodeDecodeError as problem:
        raise ValueError(f"the standard input is no text in UTF-8, at byte {problem.start:,}") from problem
    return text.removesuffix("\n").removesuffix("\r")


def _check_places(arguments: Mapping[str, Any]) -> None:
    """Refuse a layer or a head that the model does not have, with those that it has.

    Raises:
        ValueError: one of them.
    """
    source = next((value for value in arguments.values() if isinstance(value, Reading)), None)
    model = source.model if source is not None else arguments.get("model")
    asked = {name: arguments[name] for name in PLACES if type(arguments.get(name)) is int}
    if not isinstance(model, str) or not asked:
        return
    try:
        config = opened(model)[0].config
    except ValueError:  # which the view says in its own words, unless it has models of its own
        return
    of_encoder = source is not None and source.part == "encoder"
    layers = config.encoder_layers if of_encoder or not config.decoder_layers else config.decoder_layers
    for name, value in asked.items():
        count = layers if name == "layer" else config.attention.n_heads
        if not 0 <= value < count:
            raise ValueError(f"--{name} {value}: {name_of(model)} has {name}s 0 to {count - 1}")
