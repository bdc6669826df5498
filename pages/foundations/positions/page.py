"""The page on positions: one scheme at a time, its figures computed and sent only when it is looked at."""

from collections.abc import Callable
from typing import Literal

import streamlit as st

from pages.foundations.positions import scores, vectors
from pages.foundations.positions.beyond import beyond
from pages.foundations.positions.effects import effects
from pages.foundations.positions.learned import learned
from pages.ui import controls, page
from tfcore.analysis.foundations.position_effects import shuffle_test
from tfcore.config import Positions

PANELS: dict[Positions | Literal["together", "beyond"], Callable[[], None]] = {
    "sinusoidal": vectors.sinusoidal,
    "learned": learned,
    "rope": scores.rope,
    "alibi": scores.alibi,
    "none": scores.none,
    "together": effects,
    "beyond": beyond,
}

page.begin(
    "How does a model know the order?",
    "By themselves, attention scores do not depend on the order of the tokens. Each scheme adds positions in another "
    "place: sinusoidal and learned position embeddings are **added to the embeddings**, RoPE **rotates queries and "
    "keys**, ALiBi **lowers scores** with distance.",
)
scheme = controls.sections(
    "Scheme",
    "scheme",
    list(PANELS),
    "sinusoidal",
    {**scores.NAMES, "together": "All on one head", "beyond": "Beyond the length"},
)
PANELS[scheme]()
if scheme not in ("none", "together", "beyond"):
    name = scores.NAMES[scheme] if scheme in ("rope", "alibi") else scheme
    test = shuffle_test(scores.shuffle(tuple(scores.TEXT.split()), 1, False), scores.TEXT, scheme, name)
    st.markdown(f"**The shuffle test.** {test}")
    st.button("See the shuffle test", on_click=controls.set_values, kwargs={"scheme": "none", "look": scheme})
