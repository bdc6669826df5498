"""Continue a text: the next token and what decides it, whole texts by several strategies, beams, speculation."""

from collections.abc import Callable

import streamlit as st

from pages.inference import _generation_beam as beam
from pages.inference import _generation_speculative as speculative
from pages.inference import _generation_strategies as strategies
from pages.inference import _generation_token as token
from pages.inference._generation_settings import CHARACTERS, TEXT, Prompt, prompt
from pages.ui import controls, models, page

PANELS: dict[str, tuple[str, Callable[[Prompt], None]]] = {
    "token": ("One token", token.show),
    "continue": ("Whole texts", strategies.show),
    "beam": ("Beam search", beam.show),
    "speculative": ("Speculative", speculative.show),
}

page.begin(
    "How does it write?",
    "A model gives every token a probability of being next. Writing means choosing one, adding it to the text, and "
    "asking again; all the rest is **how to choose**.",
)
box, choice = st.columns([4, 1], vertical_alignment="bottom")
with box:
    pasted = controls.text_area("Text to continue", "text", TEXT, CHARACTERS, height=68)
with choice:
    model = models.choose("decoder", why_not=models.silent)
section = controls.segmented("See", "show", list(PANELS), "token", {key: name for key, (name, _) in PANELS.items()})
given = prompt(model, pasted)
if given.ids:
    PANELS[section][1](given)
else:
    st.info("There is no text yet: type or paste some above, or press Ctrl+Z in the box.")
