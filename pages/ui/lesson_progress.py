"""How far a visitor has come in each lesson, as their browser keeps it (components/inline/lesson_ring.js)."""

import json
from collections.abc import Mapping
from typing import NamedTuple

import streamlit as st

from pages.lessons import LESSONS
from pages.ui import keys
from pages.ui.components import assets
from pages.ui.session import session

LONGEST = 4_000  # characters of what a browser tells, as lesson_progress.js has it
_KEY = keys.own("lesson_progress", "progress")
_COMPONENT = assets.inline("lesson_progress", "lesson_progress")


class LessonProgress(NamedTuple):
    """The stop of a lesson that was open last, and the furthest one."""

    last: int
    furthest: int


def of_browser() -> dict[str, LessonProgress]:
    """Key of a lesson -> how far it has come, of those that were begun. The browser tells it once the page is there,
    which then runs again."""
    _COMPONENT(key=_KEY, data={"told": session().progress}, height=1, on_kept_change=_heard)
    return read(session().progress)


def _heard() -> None:
    """Callback: what the browser has kept. Anybody can tell anything, so it is read with care each time."""
    events = st.session_state.get(_KEY)
    told = events.get("kept") if isinstance(events, Mapping) else None
    if isinstance(told, str) and len(told) <= LONGEST:
        session().progress = told


def read(told: str) -> dict[str, LessonProgress]:
    """The progress in lessons that there are; whatever else was told is left out."""
    try:
        kept = json.loads(told)
    except (ValueError, RecursionError):
        return {}
    found = {}
    for key, lesson in LESSONS.items():
        match kept.get(key) if isinstance(kept, dict) else None:
            case [int(last), int(furthest)] if 1 <= last <= furthest <= len(lesson.stops) and last is not True:
                found[key] = LessonProgress(last, furthest)
    return found
