"""A lesson over the pages: a card in a fixed place while the address says `lesson=KEY&stop=N`, and nothing otherwise.

Each stop rings what it speaks of, dims the rest, asks for one action and one question. Who has predicted is shown what
the page finds for the model and the text in sight. A visitor's own text and model go along, where the lesson lets them.
What a lesson has come to is kept by the browser (components/inline/lesson_ring.js); a link of the tour of earlier
releases, `tour=N`, opens the stop that it became.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from pages.lessons import LESSONS, TOUR
from pages.lessons.from_file import read, write
from pages.lessons.lesson import OUTSIDE, Lesson, PageAnswer, Stop
from pages.ui import keys, links, notices, places, text
from pages.ui.components import assets
from pages.ui.session import Visit, session
from pages.ui.streamlit_internals import APP, AT_REST
from tfcore.views.finding import Finding, Statement
from tfcore.views.view import View

KEY = "lesson"
STOP = "stop"
WHOLE = "lesson_z"  # a lesson from outside, packed; LONGEST_WHOLE letters of an address at most
OLD = "tour"
LONGEST_TEXT = 1_500  # characters of the text that goes along
LONGEST_WHOLE = 3_000
UNPACKED = 60_000  # characters of a lesson in an address
PREDICTION = 120  # characters
LAST = "check"  # the page after the last stop
_STYLE = Path(__file__).with_suffix(".css")
_RING = assets.inline("lesson_ring", "lesson_ring")


class Place(NamedTuple):
    """Where in a lesson a visitor is: its stop, counted from 1."""

    lesson: Lesson
    number: int

    @property
    def stop(self) -> Stop:
        return self.lesson.stops[self.number - 1]


# --- addresses -------------------------------------------------------------------------------------------------------


def address(lesson: Lesson, number: int, carried: Mapping[str, str] | None = None) -> dict[str, str]:
    """The parameters of a stop's address.

    Args:
        number: counted from 1.
        carried: what goes along, by name; missing means what the lesson begins with.
    """
    stop = lesson.stops[number - 1]
    along = {name: (carried or {}).get(name, first) for name, first in lesson.carried.items() if name in stop.carries}
    if "text" in along:
        along |= links.text_parameters("text", along.pop("text"))
    whole = {}
    if lesson.key == OUTSIDE and len(packed := links.pack(write(lesson))) <= LONGEST_WHOLE:
        whole = {WHOLE: packed}
    return {**along, **stop.view, KEY: lesson.key, STOP: str(number), **whole}


def way(lesson: Lesson, number: int, label: str, icon: str, carried: Mapping[str, str] | None = None) -> None:
    """A link to a stop."""
    file = places.place(lesson.stops[number - 1].page).file
    links.to(file, address(lesson, number, carried), label, f":material/{icon}:")


def side_by_side(draw: Callable[[Lesson], None]) -> None:
    """All lessons that ship, two in a row; one below another on a phone, in the same order."""
    ships = list(LESSONS.values())
    for start in range(0, len(ships), 2):
        for place, lesson in zip(st.columns(2, gap="medium"), ships[start : start + 2], strict=False):
            with place:
                draw(lesson)


def bring(content: str) -> bool:
    """Hold the lesson that a visitor has on their shelf for this visit; whether it is one. Says so where it is none."""
    try:
        session().own_lesson = read(content)
    except ValueError as problem:
        notices.add(KEY, str(problem).rstrip("."))
        return False
    return True


def go() -> None:
    """Go to the first stop of the lesson that they brought, from a click that Python hears of."""
    if (lesson := session().own_lesson) is not None:
        links.go(places.place(lesson.stops[0].page).file, address(lesson, 1))


def title(lesson: Lesson) -> str:
    """The title of a lesson as it stands at the beginning of a line."""
    return lesson.title[:1].upper() + lesson.title[1:]


def place_at(page: str) -> Place | None:
    """Where the address says that the visitor is, if it is on this page; says so where there is no such lesson."""
    lesson, said = _lesson(), links.asked(STOP)
    if lesson is None and (old := number_in(links.asked(OLD), len(TOUR))):
        lesson, said = LESSONS[TOUR[old - 1].lesson], str(TOUR[old - 1].number)
    number = number_in(said, len(lesson.stops)) if lesson else None
    if lesson is None or number is None or lesson.stops[number - 1].page != page:
        return None
    return Place(lesson, number)


def number_in(said: str | None, most: int) -> int | None:
    """The number of a stop that an address says, of so many; None where it says none."""
    if said is None or not (said.isascii() and said.isdigit() and len(said) <= 3):
        return None
    return number if 1 <= (number := int(said)) <= most else None


def _lesson() -> Lesson | None:
    """The lesson that the address names."""
    key = links.asked(KEY)
    if key is None or key in LESSONS:
        return LESSONS.get(key or "")
    problem = f"There is no lesson {notices.shown(key)} here: the page Lessons has those that there are"
    if key == OUTSIDE:
        if (packed := links.asked(WHOLE)) is None and (held := session().own_lesson) is not None:
            return held
        problem = "The lesson was opened from a file in another visit: open its file again on the page Lessons"
        if packed is not None:
            try:
                return read(links.unpack(packed, UNPACKED) or "")
            except ValueError:
                problem = "The lesson in this link is damaged, so it was left out"
    notices.add(KEY, problem)
    return None


# --- the card --------------------------------------------------------------------------------------------------------


def show(page: str) -> None:
    """The card: where the lesson is, what to look at, the question, and the ways on; draws nothing on a page that is no
    stop of it."""
    present = session()
    links.visit()  # a new one begins before anything is noted in it
    before, here = present.stop, place_at(page)
    if here is not None and before is not None and before != here and before.stop.page == page:
        present.visit = Visit(page)  # the address decides, as on another page
    if here is not None and here.lesson.key == OUTSIDE and here != before:
        links.begin_as_said()
    present.stop, present.answer = here, None
    if here is None:
        return
    lesson, number, stop = here.lesson, here.number, here.stop
    links.visit().found.clear()
    st.html(_STYLE)
    with st.container(border=True, key="lesson_card", gap="xsmall"):
        st.caption(f"{_words(lesson, lesson.title)} · {number} of {len(lesson.stops)}")
        with st.container(key="lesson_words", gap="xsmall"):  # a presentation shows this part of the card
            st.markdown(" ".join(filter(None, [_words(lesson, stop.words), stop.action and f"**{stop.action}**"])))
            if stop.question:
                st.markdown(f"**Predict first.** {stop.question}")
                _place_for_answer(here)
        if stop.question and session().answer is None:
            _ask(here)
        _ways(here, _carried(here))
        ring = {"target": stop.ringed, "running": f"{APP}:not({AT_REST})", "lesson": lesson.key, "stop": number}
        _RING(key=keys.own("ring", "lesson"), data=ring, height="content")


def _words(lesson: Lesson, said: str) -> str:
    """Words of a lesson as Markdown: of one from outside they are shown as they are."""
    return text.paragraphs(said) if lesson.key == OUTSIDE and said else said


def _place_for_answer(here: Place) -> None:
    """Keep a place for the answer, once there is a prediction. The answer of the run before stands there until the page
    has run again."""
    visit = links.visit()
    if _at(here) in visit.predicted:
        session().answer = st.empty()
        if visit.answered:
            session().answer.markdown(visit.answered)


def _ask(here: Place) -> None:
    """A line for a prediction, and the button that shows the answer."""
    key = keys.own("text_input", f"prediction {_at(here)}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.text_input(
            "Your prediction",
            key=key,
            max_chars=PREDICTION,
            placeholder="Your prediction",
            label_visibility="collapsed",
            on_change=_reveal,
            args=(_at(here), key),
        )
        with st.container(key="lesson_answer", width="content"):
            st.button("Answer", key=keys.own("button", "lesson_answer"), on_click=_reveal, args=(_at(here), key))


def _at(here: Place) -> str:
    return f"{here.lesson.key} {here.number}"


def _reveal(at: str, key: str) -> None:
    """Callback: show the answer beside what was predicted."""
    links.visit().predicted[at] = str(st.session_state.get(key) or "")[:PREDICTION]
    links.visit().answered = ""


def _ways(here: Place, carried: Mapping[str, str]) -> None:
    lesson, number = here
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lesson_ways"):
        st.button("End", key=keys.own("button", "lesson_end"), type="tertiary", on_click=_end)
        if number > 1:
            with st.container(key="lesson_back", width="content"):
                way(lesson, number - 1, "Back", "arrow_back", carried)
        with st.container(key="lesson_next", width="content"):
            if number < len(lesson.stops):
                way(lesson, number + 1, "Next", "arrow_forward", carried)
            else:
                links.to(places.place(LAST).file, {}, "Questions", ":material/quiz:")


def _carried(here: Place) -> dict[str, str]:
    """What goes along from here: what this page holds, or, where the stop has its own, what was there before."""
    kept = session().carried
    if kept.get(KEY) != here.lesson.key:
        kept.clear()
        kept[KEY] = here.lesson.key
    for name in here.lesson.carried:
        if name in here.stop.carries and (value := _value(name)):
            kept[name] = value
    return {name: kept.get(name, first) for name, first in here.lesson.carried.items()}


def _value(name: str) -> str | None:
    """The text or the model of this page, or the one to be put there."""
    if links.address_decides(name):
        return links.text_from_address(name, LONGEST_TEXT) if name == "text" else links.asked(name)
    value = st.session_state.get(name)
    return value if isinstance(value, str) else None


def _end() -> None:
    """The view stays as it is; only the card goes."""
    for name in (KEY, STOP, WHOLE, OLD):
        links.write(name, None)


# --- the answer ------------------------------------------------------------------------------------------------------


def note(view: View) -> None:
    """Remember what a view says, where a lesson may ask for it."""
    if session().stop is not None:
        links.visit().found[view.key] = view


def answer() -> None:
    """Show the answer at the end of a run, when all views are there."""
    if (place := session().answer) is not None:
        links.visit().answered = said = _answer(session().stop)
        place.markdown(said)


def is_outdated() -> bool:
    """Whether a fragment that ran by itself has changed the answer in sight."""
    present = session()
    return present.answer is not None and not present.in_whole_run and links.visit().answered != _answer(present.stop)


def _answer(here: Place) -> str:
    """What was predicted, and what the page says (Markdown)."""
    visit = links.visit()
    said = text.escape(visit.predicted.get(_at(here), ""))
    view = visit.found.get(here.stop.answer.view) if here.stop.answer else None
    found = None if view is None or here.stop.answer is None else finding(view, here.stop.answer)
    answer = text.escape(found) if found else "What answers it is not in sight now: open this stop again."
    return f"You: {said}  \n**Here:** {answer}" if said else f"**Here:** {answer}"


def finding(view: View, wanted: PageAnswer) -> Finding | None:
    """The finding of a view that answers a question."""
    every = [*view.findings, *filter(None, [view.described]), *view.conclusions]
    named = [one for one in every if wanted.finding in ("", name_of(one))]
    return named[0] if named else None


def name_of(found: Finding) -> str:
    """The name of a finding: that of a statement, or its class."""
    return found.name if isinstance(found, Statement) else type(found).__name__
