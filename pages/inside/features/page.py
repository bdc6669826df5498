"""Features: what sparse dictionaries find in a text, and a small dictionary trained here and now."""

import streamlit as st

from pages.inside.features.explore import TRY as EXPLORE_TRY
from pages.inside.features.explore import explore
from pages.inside.features.grow import TRY as GROW_TRY
from pages.inside.features.grow import grow_one
from pages.ui import controls, page

SECTIONS = {"text": ("features of a text", explore, EXPLORE_TRY), "grow": ("train one yourself", grow_one, GROW_TRY)}

page.begin(
    "Which features are active in a text?",
    "A sparse dictionary writes an activation as a sum of a few **features**. Look at one, and switch it off or on.",
)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):  # one row: the figure begins in sight
    with st.container(width="content"):
        names = {key: name for key, (name, *_) in SECTIONS.items()}
        section = controls.sections("See", "show", list(SECTIONS), "text", names)
    _, draw, examples = SECTIONS[section]
    with st.container(width="stretch"):
        page.try_this(examples)
draw()
