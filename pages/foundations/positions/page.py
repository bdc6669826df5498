"""The page on positions: one scheme at a time, its figures computed and sent only when it is looked at."""

from collections.abc import Callable
from typing import cast

import streamlit as st

from pages.foundations.positions import compared, scores, vectors
from pages.foundations.positions.facts import FACTS
from pages.ui import controls, page
from tfcore.part_configs import Positions
from tfcore.views.foundations import positions as views
from tfcore.views.foundations.positions.say import shuffle_test

SECTIONS: dict[str, Callable[[], None]] = {
    "sinusoidal": vectors.sinusoidal,
    "learned": vectors.learned,
    "rope": scores.rope,
    "alibi": scores.alibi,
    "none": compared.none,
    "together": compared.together,
    "beyond": compared.beyond,
}

page.begin(FACTS)
scheme = controls.sections(FACTS.sections)
SECTIONS[scheme]()
if scheme not in ("none", "together", "beyond"):
    shuffled = views.shuffle_of(tuple(compared.SHUFFLED.split()), 1, False)
    test = shuffle_test(shuffled, compared.SHUFFLED, cast(Positions, scheme))
    st.markdown(f"**The shuffle test.** {test}")
    st.button("See the shuffle test", on_click=controls.set_values, kwargs={"scheme": "none", "look": scheme})
