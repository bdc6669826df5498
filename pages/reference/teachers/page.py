"""For teachers: lessons and their quizzes for a class, and what it takes to host and to embed them."""

import streamlit as st

from pages.lessons import reading_time
from pages.lessons.lesson import Lesson
from pages.reference.teachers.facts import FACTS
from pages.ui import controls, embedding, lesson_card, links, page, places

QUIZ = "check"
# sessions at once -> the time of half of the changes and of 95 % of them, in ms (docs/benchmarks.md, “Many visitors”)
LOAD = {10: (618, 873), 25: (1_553, 1_983), 50: (3_860, 5_062)}
LOAD_MEASURED = "2026-11-22"
MEMORY = {"the small models alone": 1.2, "both real models": 2.5}  # GB to count on for a replica (deploy/README.md)
CLASSES = 999


def row(lesson: Lesson, number: int) -> None:
    """A lesson: its minutes, its quiz for a class, the same as a sheet, and the one with answers."""
    said = {"course": lesson_card.title(lesson), "round": str(number)}
    file = places.place(QUIZ).file
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**{lesson_card.title(lesson)}**: {lesson.minutes} minutes, {len(lesson.stops)} stops")
        st.caption(f"For {lesson.for_whom}.")
        with st.container(horizontal=True, gap="medium"):
            lesson_card.way(lesson, 1, "Lesson", "school")
            links.to(file, said, "Quiz", ":material/quiz:")
            links.to(file, said | {"sheet": "true"}, "Sheet", ":material/print:")
            links.to(file, said | {"sheet": "true", "solved": "true"}, "With answers", ":material/task_alt:")
            links.to(file, said | {"five": "true"}, "Five before and after", ":material/compare_arrows:")


page.begin(FACTS)
number = controls.slider(
    "Number of the class",
    "class",
    1,
    CLASSES,
    1,
    help="The links below ask everybody the same questions with the same numbers. Another number, other questions.",
)
lesson_card.side_by_side(lambda one: row(one, number))

loads = "; ".join(f"{count} at once {half / 1_000:.1f} s" for count, (half, _) in LOAD.items())
memory = ", ".join(f"{size:g} GB with {what}" for what, size in MEMORY.items())
allowed = "This server allows it." if embedding.is_allowed() else "This server allows it to no other site."
with st.container(border=True):
    st.markdown(
        "**In the room.** P presents a stop to a room, the arrow keys lead on, A shows the answer, B makes the screen "
        "black. A lesson of your own is a file of addresses and notes: open it on the page *Lessons*."
    )
    st.markdown(
        f"**Minutes.** They are estimated: nobody with a clock has tried the lessons yet. A reader is taken to read "
        f"{reading_time.WORDS} words a minute of what stands at each stop (the card with its answer, what there is to "
        f"see, and what a page begins with), and to take {reading_time.PICTURE} seconds for a figure, "
        f"{reading_time.ACTION} for what is to be done and {reading_time.QUESTION} for a question. A class that "
        "discusses takes longer."
    )
    st.markdown(
        "**Without a network.** Once it is installed, all of it runs without one: models, figures, lessons, questions, "
        "trainings in the lab. A network is needed to install it, to fetch `smollm2` and `minilm` once, and to load "
        "other models of the hub."
    )
    st.markdown(
        f"**A server for thirty.** Measured with visitors who drag a slider without a pause, one process on two cores, "
        f"the time of half of the changes: {loads} (docs/benchmarks.md, {LOAD_MEASURED}). A class reads, too, and "
        f"drags less. Run a replica for each core (deploy/README.md: `docker compose -f deploy/compose.yaml up` starts "
        f"two behind nginx), and count on {memory} for each. A training in the lab is a process besides, on one core."
    )
    st.markdown(
        "**In a page of your own.** Under each figure *Save* has *Embed*: a frame with that figure, as live as here. "
        f"Other sites may show the app where the setting `TFCORE_EMBED` names them. {allowed}"
    )
    st.markdown(
        "**Privacy and licence.** No account and no tracking; answers and predictions are kept for the visit, progress "
        "by the browser. The code is under the MIT licence, SmolLM2 and MiniLM, which are fetched, are under Apache "
        "2.0; the texts that the small models were trained on have licences of their own, named on their cards."
    )
page.what_to_see(
    "Choose a number for your class and copy a link: all who open it get the same questions and the same numbers. The "
    "sheet is the same quiz to print; the one with answers is for you. Five questions before a lesson and five after "
    "it show what it changed; the difference is shown to whoever answered, and kept nowhere."
)
