"""Change what happens inside a trained model, for one pass, and see what it says then."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.inside import _interventions_patch as patching
from pages.inside import _interventions_switch as switching
from pages.inside import _reading
from pages.inside._reading import Reading
from pages.ui import controls, models, notices, page

CHARACTERS = 1_000
TEXT = "There was a little boy. One day, Sam said that"
BALL = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
MAX, HAT = "Max had a red ball. One day Max lost the red", "Max had a red hat. One day Max lost the red"
SECTIONS: dict[str, tuple[str, Callable[[Reading], None], int]] = {
    "switch": ("Switch off and scale", switching.switch, switching.TOKENS),
    "patch": ("Patch from another text", patching.patch, patching.TOKENS),
}
HERE = {"show": "switch", "where": switching.EVERYWHERE}
TRY: dict[str, dict[str, Any]] = {
    "a boy becomes a girl": {**HERE, "text": TEXT, "parts": "2.5", "action": "scale", "factor": -2.0},
    "head 2.5 off": {**HERE, "text": TEXT, "parts": "2.5", "action": "zero"},
    "a head nobody can spare": {**HERE, "text": TEXT, "parts": "0.3", "action": "zero"},
    "three that copy": {**HERE, "text": BALL, "parts": "3.0 3.1 3.2", "action": "zero"},
    "who moved it?": {"show": "patch", "text": TEXT, "other": patching.OTHER, "kind": "attention", "row": 2,
                      "position": 11},
    "ball or hat": {"show": "patch", "text": MAX, "other": HAT, "kind": "residual", "row": 4, "position": 12},
}  # fmt: skip

page.begin(
    "What if a part were different?",
    "Looking tells what goes together; only changing something tells what depends on it. Switch parts off, scale them, "
    "or give them what they would have seen in another text, and the model answers anew.",
)
box, beside = st.columns([4, 1], vertical_alignment="bottom")
with box:
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=68)
with beside:
    model = models.choose("decoder", why_not=models.silent)
page.try_this({name: {"model": "stories", **values} for name, values in TRY.items()})
names = {key: name for key, (name, _, _) in SECTIONS.items()}
section = controls.segmented("Experiment", "show", list(SECTIONS), "switch", names)
_, show, limit = SECTIONS[section]
notices.drop("tokens of other text")  # unless it is still on the page
show(_reading.checked(model, pasted, limit))
