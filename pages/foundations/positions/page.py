"""The page on positions: one scheme at a time, its figures computed and sent only when it is looked at."""

from collections.abc import Callable
from typing import cast

import streamlit as st

from pages.foundations.positions import scores, vectors
from pages.foundations.positions.beyond import beyond
from pages.foundations.positions.effects import effects
from pages.foundations.positions.facts import FACTS
from pages.foundations.positions.learned import learned
from pages.ui import controls, page
from tfcore.analysis.foundations.position_effects import shuffle_test
from tfcore.config import Positions

PANELS: dict[str, Callable[[], None]] = {
    "sinusoidal": vectors.sinusoidal,
    "learned": learned,
    "rope": scores.rope,
    "alibi": scores.alibi,
    "none": scores.none,
    "together": effects,
    "beyond": beyond,
}

page.begin(FACTS)
scheme = controls.sections(FACTS.sections)
PANELS[scheme]()
if scheme not in ("none", "together", "beyond"):
    name = FACTS.sections.names[scheme] if scheme in ("rope", "alibi") else scheme
    test = shuffle_test(
        scores.shuffle(tuple(scores.TEXT.split()), 1, False), scores.TEXT, cast(Positions, scheme), name
    )
    st.markdown(f"**The shuffle test.** {test}")
    st.button("See the shuffle test", on_click=controls.set_values, kwargs={"scheme": "none", "look": scheme})
