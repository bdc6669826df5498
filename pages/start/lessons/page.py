"""Lessons: those that ship, how far a visitor has come in each, and one from a file."""

import streamlit as st

from pages.lessons.from_file import LARGEST, read
from pages.lessons.lesson import Lesson
from pages.start.lessons.facts import FACTS
from pages.ui import keys, lesson_card, lesson_progress, page, text
from pages.ui.lesson_progress import LessonProgress
from pages.ui.session import session

MB = 1_000_000


def row(lesson: Lesson, progress: LessonProgress | None) -> None:
    """A lesson: for whom, how long, and the ways into it."""
    count = len(lesson.stops)
    with st.container(border=True, gap="xsmall"):
        lesson_card.way(lesson, 1, f"**{lesson_card.title(lesson)}**", "school")
        st.caption(f"For {lesson.for_whom}. {lesson.minutes} minutes, {count} stops.")
        if progress is None:
            return
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.progress(progress.furthest / count, f"{progress.furthest} of {count} stops seen", width=240)
            if progress.last < count:
                lesson_card.way(lesson, progress.last, f"Go on at stop {progress.last}", "resume")


def from_file() -> None:
    """A lesson that somebody made: it is held for this visit alone."""
    key = keys.own("file_uploader", "lesson")
    file = st.file_uploader("A lesson as a JSON file", type=["json"], key=key, max_upload_size=LARGEST // MB)
    if file is None:
        st.caption(
            "Such as one that was exported from a shelf. The file is not part of the link, and stays on no server."
        )
        return
    try:
        lesson = session().own_lesson = read(file.getvalue())
    except ValueError as problem:
        st.warning(text.escape(problem, text.MESSAGE))
        return
    title = text.escape(lesson.title)
    lesson_card.way(lesson, 1, f"**{title}**: {len(lesson.stops)} stops", "school")
    if lesson.for_whom:
        st.caption(f"For {text.escape(lesson.for_whom)}.")


page.begin(FACTS)
known = lesson_progress.of_browser()
lesson_card.side_by_side(lambda one: row(one, known.get(one.key)))
with st.expander("A lesson from a file"):
    from_file()
page.what_to_see(
    "Each lesson opens as a card on the pages it leads through. The arrow keys lead on and back, A shows the answer, "
    "P presents a stop to a room. A text and a model of your own go along. How far you have come is kept by this "
    "browser, and nowhere else."
)
