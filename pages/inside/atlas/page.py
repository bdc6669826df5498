"""Atlas of heads: every head over a distribution of texts, one of them closely, found by kinds, and beside one text."""

import streamlit as st

from pages.inside.atlas.choices import choose_measured
from pages.inside.atlas.every_head import every_head
from pages.inside.atlas.facts import FACTS
from pages.inside.atlas.one_head import one_head
from pages.inside.atlas.role import on_your_text
from pages.inside.atlas.search import find_head
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {"heads": every_head, "head": one_head, "search": find_head}

page.begin(FACTS, always=models.always())
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    with st.container(width=150):
        model = models.choose("decoder", "encoder", default=models.first())
    with st.container(width="content"):
        section = controls.sections(FACTS.sections)
    on = st.container(width="content")
if section == "role":
    on_your_text(model)
else:
    with on:
        heads = choose_measured(model)
    SECTIONS[section](heads)
