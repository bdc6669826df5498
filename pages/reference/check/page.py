"""Questions over all chapters: computed anew for each round, graded at once, each leading to its experiment."""

import secrets
from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.lessons import LESSONS
from pages.reference.check import card as cards
from pages.reference.check.facts import FACTS
from pages.reference.check.result import before_and_after, result
from pages.reference.check.round import CHAPTERS, LENGTH, LEVELS, SEEDS, draw
from pages.ui import controls, lesson_card, links, notices, page
from pages.ui.components.figure import Event
from pages.ui.frame import show
from tfcore.views.reference import check as views
from tfcore.views.reference.check import say
from tfcore.views.reference.check.draw import State

NAMES = {key: title for key, (title, _) in CHAPTERS.items()}
FIVE = 5  # questions before a lesson, and after it
COURSES = {"": "every lesson"} | {key: lesson_card.title(lesson) for key, lesson in LESSONS.items()}
TRY: dict[str, dict[str, Any]] = {
    "first steps": {"course": "", "chapters": ["foundations", "block", "model"], "level": 1},
    "what it costs": {"course": "", "chapters": ["model", "training", "inference"], "level": 0},
    "inside the model": {"course": "", "chapters": ["inside"], "level": 0},
    "in depth": {"course": "", "chapters": [], "level": 2},
}


def round_number() -> int:
    """Which round the address asks for; a new visit without one gets a round of its own."""
    said, from_link = links.wanted("round", None, links.asked)
    good = str(said).isascii() and str(said).isdigit() and 1 <= int(str(said)[:7]) < SEEDS
    if from_link and not good:
        notices.add("round", f"There is no round {notices.shown(said)}, so this is a new one")
    number = int(said) if good else 1 + secrets.randbelow(SEEDS - 1)
    st.session_state["round"] = number
    links.write("round", str(number))
    links.mark_seen("round")
    return number


def another() -> None:
    """Callback: a round that nobody has seen."""
    controls.set_values(round=1 + secrets.randbelow(SEEDS - 1), question=1, sheet=False)


def go_to(event: Event) -> None:
    """Callback of a click on the map."""
    if isinstance(event["customdata"], list) and event["customdata"]:
        controls.set_values(question=event["customdata"][0], sheet=False)


page.begin(FACTS)
page.try_this({name: {"question": 1, "sheet": False, **values} for name, values in TRY.items()}, "Rounds to try")
chapters_place = st.empty()
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    course = controls.select("About", "course", list(COURSES), "", COURSES)
    with page.more_settings():
        level = controls.segmented("Level", "level", list(LEVELS), 0, LEVELS)
        five = controls.toggle("Five questions, before a lesson and after it", "five")
        sheet = controls.toggle("All on one sheet", "sheet")  # links go to pages whose keys must not be among these
        solved = sheet and controls.toggle("Answers on the sheet, for teachers", "solved")
    st.button("New round", on_click=another, icon=":material/casino:")
lesson = LESSONS.get(course)
chapters: Sequence[str] = list(NAMES)  # those of a lesson follow from its questions
if lesson is None:
    with chapters_place:
        chapters = controls.several("Chapters (none: all)", "chapters", list(NAMES), NAMES)
number = round_number()
slots = draw(number, chapters, level, lesson.quiz if lesson else (), FIVE if five else LENGTH)
given = cards.answers(slots)
states = cards.states(slots, given)
words: list[State] = ["open" if state is None else "right" if state else "wrong" for state in states]

asking, map_place = st.columns([3, 2], gap="large")
with asking:
    shown = None if sheet else controls.slider("Question", "question", 1, len(slots), 1)
    if shown is None:
        cards.sheet(slots, solved)
    else:
        cards.card(slots, given, shown)
with map_place:
    chosen = [NAMES[slot.chapter] for slot in slots]
    shown_map = views.round_map(number, chosen, words, None if shown is None else shown - 1)
    show(
        shown_map,
        go_to,
        "A click opens a question. The link keeps this round and its answers; whoever opens it without them gets the "
        "same questions.",
    )
    if "open" not in words:
        result(slots, given, states)
        if lesson and five:
            before_and_after(lesson, number, states.count(True), another)
page.what_to_see(
    "A square for each question, a row for each chapter: filled with a tick is right, empty with a cross is not yet. "
    "The rows with crosses are the chapters to go back to. Numbers are computed by the library at this moment, and the "
    "usual slips are recognised by the number they lead to. Each answer comes with its reason, and with the paper "
    "where there is one, such as arXiv:1706.03762."
)
page.question(
    "Somebody has 4 of 10 right, all of them with four options to choose from. Might that be luck alone?",
    f"{say.guessed_rounds()} Numbers to work out cannot be guessed.",
)
page.how_it_is_computed(code=shown_map.code)
