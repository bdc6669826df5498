"""A notebook of the views on a shelf, which the browser keeps (components/shelf.js) and sends for this alone.

Nothing is kept here, and no view is made: what a browser says of a call is read by the types of the view's function and
written down as literals, so that a notebook contains no code that somebody else wrote.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from pages.ui import text
from tfcore.commands import calls
from tfcore.views import programs

LARGEST = 2_000_000  # bytes of a request
MOST = 200  # views
LONGEST = 9_000  # signs of an address, and of any other text
LONGEST_TITLE = 200  # signs of it that are shown
ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"\\`]+")


def notebook(body: bytes) -> str:
    """The notebook of the views that a request names.

    Args:
        body: JSON: a title and stops, each with a title, a note, an address and a call (`tfcore.commands.calls`).

    Raises:
        ValueError: what is wrong with it, in a sentence.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ValueError("This is no shelf: it is not JSON with a title and stops.")
    stops = said.get("stops")
    if not isinstance(stops, list) or not 0 < len(stops) <= MOST:
        raise ValueError(f"A notebook is made of 1 to {MOST} views.")
    cells = [cell for place, stop in enumerate(stops, start=1) for cell in _cells(place, stop)]
    title = text.escape(_string(said, "title") or "Pinned views", LONGEST_TITLE)
    return programs.book(f"# {title}\n\n{programs.HOW}\n\n{programs.IN_JUPYTER}", cells)


def _cells(place: int, stop: Any) -> tuple[programs.Words, str]:
    """What is said of a view, and the code that makes it."""
    match stop:
        case {"call": [str(name), dict(arguments)]}:
            pass
        case _:
            raise ValueError(f"View {place} does not say how it was made: open it and pin it again.")
    try:
        parts = programs.program_of(calls.made(name, arguments))
    except (ValueError, TypeError, ArithmeticError, RecursionError) as problem:
        reason = text.shorten(str(problem), LONGEST_TITLE)
        raise ValueError(f"View {place} is no view of this version ({reason}): open it and pin it again.") from problem
    title, note = _string(stop, "title"), _string(stop, "note")
    said = [f"## {text.escape(title or parts.name, LONGEST_TITLE)}", note and text.paragraphs(note), _link(stop)]
    return programs.Words("\n\n".join(filter(None, said))), f"{parts.imports}\n\n{parts.call}\nprint(shown)\nshown"


def _string(said: Mapping[str, Any], name: str) -> str:
    """A text of a request, cut; empty where it is none."""
    value = said.get(name)
    return value[:LONGEST].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _link(stop: Mapping[str, Any]) -> str:
    """Markdown of a link to the view; empty where no address is said."""
    address = _string(stop, "address")
    return f"[Open this view]({address})" if ADDRESS.fullmatch(address) else ""
