"""Lessons that come from outside: a file, or a link that carries one.

A lesson is JSON of this form, and whatever else it says is ignored:

    {"title": "Heads that copy",                     text of at most 120 characters
     "for_whom": "my class",                         may be missing; as long
     "minutes": 15,                                  may be missing; 1 to 600
     "stops": [                                      1 to 200
       {"address": "heads?layer=2&head=5&text=A+cat",  a page of the app and its view, as after the root of a copied
                                                       link; a whole link will do, too: its server is ignored
        "note": "The stripe is what copies.",          text, may be missing or empty; at most 2,000 characters
        "figure": "mosaic"}]}                          may be missing: the key of the view that is ringed

`read` checks all of it, `write` is its inverse. Text is text: who shows it escapes it. Nothing is code.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pages import facts
from pages.lessons.lesson import OUTSIDE, Lesson, Stop

LARGEST = 2_000_000  # characters of a file
STOPS = 200
TITLE = 120  # characters
NOTE = 2_000
ADDRESS = 8_000  # characters; browsers cut addresses beyond that
NAMES = 60  # parameters of an address
MINUTES = 600
NOT_OF_A_VIEW = frozenset({"lesson", "lesson_z", "stop", "tour", "present", "embed", "embed_options"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_FIGURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,79}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(content: str | bytes) -> Lesson:
    """The lesson in a file.

    Raises:
        ValueError: it is none; the message says in one sentence what is wrong and what would do.
    """
    if len(content) > LARGEST:
        raise ValueError(f"The file is too long for a lesson: {LARGEST:,} characters are the most.")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("The file is no lesson: it is not JSON, as the export of a lesson is.") from None
    if not isinstance(found, Mapping) or not isinstance(stops := found.get("stops"), list):
        raise ValueError('The file is no lesson: it needs a "title" and a list of "stops".')
    if not 1 <= len(stops) <= STOPS:
        raise ValueError(f"The lesson has {len(stops):,} stops; it may have 1 to {STOPS}.")
    return Lesson(
        key=OUTSIDE,
        title=_text(found.get("title"), "title", TITLE) or "A lesson without a title",
        for_whom=_text(found.get("for_whom"), "for_whom", TITLE),
        minutes=_minutes(found.get("minutes")),
        stops=tuple(_stop(number, one) for number, one in enumerate(stops, start=1)),
    )


def write(lesson: Lesson) -> str:
    """A lesson as `read` takes it, without its questions."""
    stops = [
        {"address": f"{one.page}?{urlencode(one.view)}", "note": one.words, "figure": one.figure}
        for one in lesson.stops
    ]
    whole = {"title": lesson.title, "for_whom": lesson.for_whom, "minutes": lesson.minutes, "stops": stops}
    return json.dumps(whole, ensure_ascii=False)


def _stop(number: int, said: Any) -> Stop:
    where = f"Stop {number}"
    if not isinstance(said, Mapping) or not isinstance(address := said.get("address"), str):
        raise ValueError(f'{where} has no "address", such as "heads?layer=2".')
    if len(address) > ADDRESS:
        raise ValueError(f"The address of stop {number} is too long: {ADDRESS:,} characters are the most.")
    page, view = _address(where, address)
    figure = _text(said.get("figure"), f"figure of stop {number}", TITLE)
    if figure and not _FIGURE.fullmatch(figure):
        raise ValueError(f"The figure of stop {number} is no key of a figure: letters, digits, spaces and - make one.")
    return Stop(
        page=page, view=view, words=_text(said.get("note"), f"note of stop {number}", NOTE), figure=figure, carries=()
    )


def _address(where: str, address: str) -> tuple[str, dict[str, str]]:
    """The page and the view of an address."""
    try:
        parts = urlsplit(address)
        said = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=NAMES)
    except ValueError:
        raise ValueError(f"{where} has an address that cannot be read, or more than {NAMES} settings.") from None
    page = parts.path.rstrip("/").rpartition("/")[2]
    if page not in facts.pages():
        raise ValueError(f"{where} is on no page of this app: its address begins with a page, as in heads?layer=2.")
    view = {name: _SURROGATE.sub("\ufffd", value) for name, value in said if name not in NOT_OF_A_VIEW}
    if not all(_NAME.fullmatch(name) for name in view):
        raise ValueError(f"{where} has a setting whose name is none: letters, digits, - and _ make one.")
    return page, view


def _text(said: Any, what: str, most: int) -> str:
    """A text; empty where there is none. A half of a character that JSON may spell is no character."""
    if said is None:
        return ""
    if not isinstance(said, str):
        raise ValueError(f"The {what} is no text.")
    if len(said) > most:
        raise ValueError(f"The {what} is too long: {most:,} characters are the most.")
    return _SURROGATE.sub("\ufffd", said).strip()


def _minutes(said: Any) -> int:
    if said is None or said == 0:
        return 0
    if isinstance(said, bool) or not isinstance(said, int) or not 1 <= said <= MINUTES:
        raise ValueError(f"The minutes of the lesson are no whole number from 1 to {MINUTES}.")
    return said
