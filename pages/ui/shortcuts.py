"""The foot of every page, and keys that work on all of them: search (Ctrl-K), presenting (P), a list of the keys (?).

See components/shortcuts.js for the browser's half. It tells what was chosen by its place in a list that both halves
have; anybody can tell anything, so the place is checked. That a page is presented is known to the browser alone, which
keeps it in the address: nothing is computed for it.
"""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from pages import facts
from pages.ui import controls, embedding, finder, keys, lesson_card, links, page, places
from pages.ui.components import assets
from pages.ui.session import session

LESSON = -1  # in place of a place among the entries: the lesson that was brought
_KEYS = keys.own("shortcuts", "keys")
_FOOT = keys.own("shortcuts", "foot")
_COMPONENT = assets.component("shortcuts", "shortcuts.js")


def go() -> None:
    """Go to what a visitor chose at the foot of the page or in the search, before anything of this page is drawn."""
    chosen, session().way = session().way, None
    if chosen == LESSON:
        lesson_card.go()
    elif chosen is not None:
        to = finder.entries()[chosen]
        links.go(places.place(to.page).file, to.view)


def begin(url: str) -> None:
    """The keys, before the page at this address is drawn; none in a frame of another site."""
    if not embedding.is_on():
        data = {"part": "keys", "page": url, "see": page.SEE}
        _COMPONENT(key=_KEYS, data=data, on_told_change=partial(_heard, _KEYS))


def foot(url: str) -> None:
    """The foot of the page at this address, once it is drawn; none in a frame of another site."""
    if embedding.is_on():
        return
    sections = facts.pages()[url].facts.sections
    every = list(facts.pages())
    at = every.index(url)
    data = {
        "part": "foot",
        "page": url,
        "before": _way(at - 1) if at else None,
        "after": _way(at + 1) if at + 1 < len(every) else None,
        "sections": list(sections.names.values()),
        "open": _open(sections),
        "examples": list(links.visit().offered),
    }
    _COMPONENT(key=_FOOT, data=data, on_told_change=partial(_heard, _FOOT))


def _way(at: int) -> dict[str, str | int]:
    """The page at a place in the order of the sidebar, which is that of the entries, too."""
    entry = finder.entries()[at]
    return {"at": at, "title": entry.title, "key": entry.page}


def _open(sections: facts.Sections) -> int:
    """The place of the section that is open."""
    names = list(sections.names)
    chosen = controls.last(sections.key) if names else None
    return names.index(chosen) if chosen in names else 0


def _heard(key: str) -> None:
    """Callback: open a section, press an example, or note where to go."""
    events = st.session_state.get(key)
    match events.get("told") if isinstance(events, Mapping) else None:
        case ["lesson", str(content)] if lesson_card.bring(content):
            session().way = LESSON
        case ["go", int(at)] if 0 <= at < len(finder.entries()):
            session().way = at
        case ["example", int(at)] if 0 <= at < len(links.visit().offered):
            controls.set_values(**list(links.visit().offered.values())[at])
        case ["section", int(at)]:
            sections = facts.pages()[session().page or ""].facts.sections
            if 0 <= at < len(sections.names):
                controls.set_values(**{sections.key: list(sections.names)[at]})
