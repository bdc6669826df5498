"""The front page: a text, its river through a model, three ways in, and the way to every page."""

from pathlib import Path

import streamlit as st

from pages import facts
from pages.lessons import FIRST, LESSONS
from pages.start.home import map as model_map
from pages.start.home import stage
from pages.start.home.facts import FACTS
from pages.ui import controls, lesson_card, links, page, places, recent
from pages.ui.loading import models

LESSON = LESSONS[FIRST]
# title: (address, view, what happens there)
DOORS: dict[str, tuple[str, dict[str, str], str]] = {
    lesson_card.title(LESSON): (
        LESSON.stops[0].page,
        lesson_card.address(LESSON, 1),
        f"The first lesson: {LESSON.minutes} minutes.",
    ),
    "Break it": ("interventions", {}, "What does the prediction need?"),
    "Train one now": ("lab", {}, "On a task or a text of your own."),
}
PICTURES = Path(__file__).parents[3] / "assets" / "previews"

SMALL = 112  # pixels across of a picture
# Of a picture taken for previews of links only what is below its title is shown: the upper quarter, 15 pixels, is cut.
CUT = """<style>img[alt^="A figure of the page"] {
  clip-path: inset(25% 0 2% 0); margin-block: -15px -1px; }</style>"""
# The pictures were taken in the light theme. In the dark one black and white change places, and hues stay.
DARK = '<style>img[alt^="A figure of the page"] { filter: invert(0.9) hue-rotate(180deg); }</style>'


def picture(key: str) -> None:
    """A small figure of a page."""
    st.image(PICTURES / f"{key}.png", width=SMALL, alt=f"A figure of the page {places.place(key).facts.title}")


page.begin(FACTS, always=models.always(stage.SHIPPED_UNTIL))
stage.show()
st.html(CUT)
if st.context.theme.type == "dark":
    st.html(DARK)
for column, (title, (key, view, words)) in zip(st.columns(len(DOORS), gap="medium"), DOORS.items(), strict=True):
    with column, st.container(border=True, height="stretch", horizontal=True, wrap=False, gap="small"):
        picture(key)
        with st.container(gap="xxsmall", width="stretch"):
            links.to(places.place(key).file, view, f"**{title}**", ":material/arrow_forward:")
            st.caption(words)
recent.show()
with st.container(gap=None):
    for chapter in facts.CHAPTERS:
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"chapter {chapter.title}"):
            picture(chapter.picture)
            with st.container(gap=None, width="stretch"):
                st.markdown(f"**{chapter.title}.** {chapter.answers}")
                with st.container(horizontal=True, gap="small"):
                    for one in facts.pages_of(chapter.folder):
                        if one.facts.key:  # this page leads to all others
                            st.page_link(one.file, label=one.facts.title, help=one.facts.answers, width="content")
with st.expander("A map of the model: every part leads to the page about it"):
    st.session_state[stage.BELOW] = controls.last("model")
    model_map.show(controls.last("model"))
st.caption(
    "Pictures are computed while you look; what takes hours is stored, and its page says so. The induction heads of "
    "stories come from repeated random tokens, 2 of every 16 sequences it was trained on with text. Papers: "
    "arXiv:1706.03762 (attention), arXiv:2403.00824 (information flow), arXiv:2209.11895 (induction)."
)
