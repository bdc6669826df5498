"""The address of a view in a running app: the page that shows it, with the controls that take its arguments.

Which controls those are, a view does not know and a page does not say: `python -m tools.addresses` found out by moving
one control after the other, and stored it in addresses.json. TFCORE_ADDRESS says where the app is that links lead to
(http://localhost:8501).
"""

import base64
import inspect
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus, urlencode

from tfcore.tokenizers.tokenizer import MARK, unmarked
from tfcore.views.sources import SO_FAR, File, Reading

if TYPE_CHECKING:
    from tfcore.views.view import Made

SETTING = "TFCORE_ADDRESS"
HERE = "http://localhost:8501"
FILE = Path(__file__).with_suffix(".json")
VERSION = "5"  # of links; what each changed is said in pages/ui/links.py
VERSION_KEY = "v"  # no control has that name
PLAIN_CHARACTERS = 2_000
LINK_CHARACTERS = 6_000  # of text in an address; browsers, chats and proxies cut addresses from about 8,000 on
HOST = re.compile(r"([\w-]+(\.[\w-]+)*\.?|\[[0-9a-f:.]+\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
ON_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)  # a model's name; anything else is a file or a folder
MODELS = ("model", "reading.model")
BOS = {None: "as usual", True: "with", False: "without"}  # as the control says it


# --- the app and its texts -------------------------------------------------------------------------------------------


def app(setting: str | None = None) -> str:
    """The address of a server without a slash at its end: of TFCORE_ADDRESS unless one is given, else on this machine.

    Raises:
        ValueError: it is no address of a server.
    """
    return checked(os.environ.get(SETTING, "") if setting is None else setting) or HERE


def checked(setting: str) -> str:
    """An address without a slash at its end; empty where nothing is said.

    Raises:
        ValueError: it is no address of a server.
    """
    said = setting.strip().rstrip("/")
    scheme, _, rest = said.partition("://")
    host, _, path = rest.partition("/")
    if said and not (scheme in ("http", "https") and HOST.fullmatch(host) and re.fullmatch(r"[\w./~-]*", path)):
        raise ValueError(f"{SETTING}={setting!r} is no address: use for example https://example.org")
    return said


def pack(text: str) -> str:
    """Text as zlib, then base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).rstrip(b"=").decode()


def text_parameters(key: str, text: str) -> dict[str, str]:
    """How an address says `text`: plainly if short, compressed if long, not at all (empty) beyond what fits. Where its
    special tokens are marked, the switch beside its box is said, too."""
    if MARK in text:
        return text_parameters(key, unmarked(text)) | {special_key(key): "true"}
    if len(text) <= PLAIN_CHARACTERS and len(quote_plus(text)) <= LINK_CHARACTERS:
        return {key: text}
    packed = pack(text)
    return {packed_key(key): packed} if len(packed) <= LINK_CHARACTERS else {}


def special_key(key: str) -> str:
    """The name of the switch that reads special tokens in the text of `key` as what they are."""
    return f"{key}_special"


def packed_key(key: str) -> str:
    """The name under which an address says the text of `key` compressed."""
    return "z" if key == "text" else f"{key}_z"


# --- where a view is shown -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAt:
    """A page that shows a view.

    Args:
        page: its key.
        view: parameters of the address under which it does, such as the section.
        controls: arguments, as `arguments` names them -> the controls that take them.
        fixed: arguments that the page always gives, while its other controls are as they begin.
    """

    page: str
    view: Mapping[str, str] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)


class ViewLink(NamedTuple):
    """The address of a view in an app.

    Args:
        is_exact: whether the page shows this very view there, and not one with some other arguments.
    """

    url: str
    is_exact: bool


@cache
def places() -> dict[str, list[ShownAt]]:
    """Names of views -> the pages that show them."""
    return {name: [ShownAt(**one) for one in found] for name, found in json.loads(FILE.read_text("utf-8")).items()}


def name_of(function: Callable[..., Any]) -> str:
    """A view as `tfcore.views` has it: its subject and its function."""
    subject = function.__module__.removeprefix("tfcore.views.").split(".")[:2][-1]
    return f"{subject}.{function.__name__}"


def arguments(made: "Made") -> dict[str, Any]:
    """The arguments of a view, with those that it began with, by name; of a record each field, as in `reading.text`."""
    parameters = inspect.signature(made.function).parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty and one.name != SO_FAR}
    return dict(_leaves("", {**defaults, **made.arguments}))


def _leaves(before: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Reading):
            said = {one.name: getattr(value, one.name) for one in fields(value)}
            yield from _leaves(f"{before}{name}.", {**said, "bos": BOS[value.bos]})
        elif is_dataclass(value) and not isinstance(value, type | File):
            yield from _leaves(f"{before}{name}.", {one.name: getattr(value, one.name) for one in fields(value)})
        else:
            yield f"{before}{name}", _plain(value)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not, as it is."""
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return value


def link(made: "Made", server: str | None = None) -> ViewLink | None:
    """Where an app shows a view; None where no page does. Without a page that takes all of its arguments, the first
    that shows it with other ones.

    Args:
        server: its address; that of the setting where there is none.

    Raises:
        ValueError: it is no address of a server.
    """
    begin, given = app(server), arguments(made)
    found = [_at(one, given) for one in places().get(name_of(made.function), ())]
    if not found:
        return None
    page, said, is_exact = next((one for one in found if one[2]), found[0])
    return ViewLink(f"{begin}/{page}?{urlencode({VERSION_KEY: VERSION, **said})}", is_exact)


def _at(place: ShownAt, given: Mapping[str, Any]) -> tuple[str, dict[str, str], bool]:
    """A page, what its address says of these arguments, and whether that is all."""
    said, is_exact = dict(place.view), True
    for name, value in given.items():
        if name.endswith(".part") and value is None:
            continue  # the last that the model has, with which pages begin
        if name not in place.controls:
            is_exact &= name in place.fixed and _same(place.fixed[name], value)
        elif told := parameters(name, place.controls[name], value):
            is_exact &= not any(said.get(key, one) != one for key, one in told.items())
            said = told | said
        else:
            is_exact = False
    return place.page, said, is_exact and given.keys() >= {*place.controls, *place.fixed}


def _same(one: Any, other: Any) -> bool:
    return bool(type(one) is type(other) and one == other)


def parameters(name: str, key: str, value: Any) -> dict[str, str]:
    """How an address says the value of a control; empty where it cannot."""
    match value:
        case bool():
            return {key: str(value).lower()}
        case int() | float():
            return {key: str(value)}
        case str() if name not in MODELS or ON_HUB.fullmatch(value):
            return text_parameters(key, value)
    return {}
