"""Features: what sparse dictionaries find in a text, and a small dictionary trained here and now."""

import streamlit as st

from pages.inside.features.explore import examples as of_texts
from pages.inside.features.explore import explore
from pages.inside.features.facts import FACTS
from pages.inside.features.grow import TRY as GROW_TRY
from pages.inside.features.grow import grow_one
from pages.ui import controls, page

SECTIONS = {"text": (explore, of_texts), "grow": (grow_one, lambda: GROW_TRY)}

CHOICE = 300  # pixels of the choice between them

page.begin(FACTS)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):  # one row: the figure begins in sight
    with st.container(width="content"):
        draw, examples = SECTIONS[controls.sections(FACTS.sections)]
    with st.container(width="stretch"):
        page.try_this(examples(), taken=CHOICE)
draw()
