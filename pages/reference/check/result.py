"""The result of a finished round: the score by chapter, what was missed with its experiment, and what to read next."""

from collections.abc import Callable

import streamlit as st

from pages import facts
from pages.lessons.lesson import Lesson
from pages.reference.check.card import ready
from pages.reference.check.round import CHAPTERS, Answer, Slot, verdict
from pages.ui import keys, lesson_card, places
from pages.ui.session import session

MOST = 3  # pages to read next


def by_chapter(slots: tuple[Slot, ...], states: list[bool | None]) -> dict[str, tuple[int, int]]:
    """Chapter -> how many are right, of how many."""
    counts: dict[str, tuple[int, int]] = {}
    for slot, state in zip(slots, states, strict=True):
        right, count = counts.get(slot.chapter, (0, 0))
        counts[slot.chapter] = right + (state is True), count + 1
    return counts


def weakest(scores: dict[str, tuple[int, int]]) -> str | None:
    """The chapter with the most missed, by share; None if nothing was."""
    missed = {chapter: (count - right) / count for chapter, (right, count) in scores.items() if right < count}
    return max(missed, key=lambda chapter: missed[chapter]) if missed else None


def result(slots: tuple[Slot, ...], given: list[Answer], states: list[bool | None]) -> None:
    """Shown once all questions are answered."""
    right = states.count(True)
    scores = by_chapter(slots, states)
    st.subheader(f"{right} of {len(slots)} right", anchor=False)
    st.markdown(" · ".join(f"{CHAPTERS[name][0]} {good}/{count}" for name, (good, count) in scores.items()))
    missed = [i for i, state in enumerate(states) if state is False]
    if missed:
        st.markdown("**What you missed, and the experiment that settles it:**")
    for i in missed:
        one, _ = ready(slots[i])
        judged = verdict(slots[i].question, one, given[i])
        with st.container(border=True):
            st.markdown(f"**{i + 1}.** {one.ask}")
            places.link(judged.look.page, judged.look.view, judged.look.words)
    if (chapter := weakest(scores)) is not None:
        st.markdown(f"**Read next:** {CHAPTERS[chapter][0]}, where most was missed.")
        folder = "reference" if chapter == "history" else chapter
        pages = [one for one in facts.pages_of(folder) if one.facts.key != "check"]
        with st.container(horizontal=True):
            for near in pages[:MOST]:
                st.page_link(near.file, label=near.facts.title)
    else:
        st.markdown("**Read next:** nothing was missed. Try a round in depth, or build one of your own models.")


def before_and_after(lesson: Lesson, number: int, right: int, another: Callable[[], None]) -> None:
    """What a lesson changed, measured on oneself: the first round about it that was finished in this visit, and this
    one. Nothing of it is kept beyond the visit.

    Args:
        number: of this round.
        another: callback that begins another round.
    """
    rounds = session().rounds.setdefault(lesson.key, {})
    rounds[number] = right
    (first, before), *_ = rounds.items()
    with st.container(border=True):
        if first == number:
            st.markdown(f"**Before the lesson:** {right} right. Take it now, and then answer others about it.")
        else:
            st.markdown(f"**Before the lesson:** {before} right. **Now:** {right}, a difference of {right - before:+}.")
        with st.container(horizontal=True, vertical_alignment="center"):
            lesson_card.way(lesson, 1, lesson_card.title(lesson), "school")
            st.button("Five others", key=keys.own("button", "five others"), on_click=another, icon=":material/casino:")
        st.caption("These numbers are kept for this visit, and nowhere else.")
