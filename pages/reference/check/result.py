"""What a finished round says: the score by chapter, what was missed with its experiment, and what to read next."""

import streamlit as st

from pages.reference.check.card import ready
from pages.reference.check.round import CHAPTERS, Answer, Slot, verdict
from pages.ui import places

PAGES_OF = {  # chapter of questions -> chapter of pages
    "foundations": "Foundations",
    "block": "Block",
    "model": "Model",
    "training": "Training",
    "inference": "Inference",
    "experts": "Experts",
    "inside": "Inside",
    "history": "Reference",
}
MOST = 3  # pages to read next


def by_chapter(slots: tuple[Slot, ...], states: list[bool | None]) -> dict[str, tuple[int, int]]:
    """Chapter -> how many are right, of how many."""
    found: dict[str, tuple[int, int]] = {}
    for slot, state in zip(slots, states, strict=True):
        right, count = found.get(slot.chapter, (0, 0))
        found[slot.chapter] = right + (state is True), count + 1
    return found


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
        found = verdict(slots[i].question, one, given[i])
        with st.container(border=True):
            st.markdown(f"**{i + 1}.** {one.ask}")
            places.link(found.look.page, found.look.view, found.look.words)
    if (chapter := weakest(scores)) is not None:
        st.markdown(f"**Read next:** {CHAPTERS[chapter][0]}, where most was missed.")
        pages = [place for place in places.chapter(PAGES_OF[chapter]) if place.url != "check"] or [
            places.place("parameters")
        ]
        with st.container(horizontal=True):
            for place in pages[:MOST]:
                st.page_link(place.file, label=place.title)
    else:
        st.markdown("**Read next:** nothing was missed. Try a round in depth, or build one of your own models.")
