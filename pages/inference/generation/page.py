"""Continue a text: the next token and its filters, decoding strategies, beam search, speculation; a conversation."""

from collections.abc import Callable

import streamlit as st

from pages.inference.generation import beam as beam
from pages.inference.generation import conversation as conversation
from pages.inference.generation import speculative as speculative
from pages.inference.generation import strategies as strategies
from pages.inference.generation import token as token
from pages.inference.generation.choices import CHARACTERS, Prompt, prompt, text_of
from pages.inference.generation.facts import FACTS
from pages.ui import controls, page
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import say_nothing_read, text_box

PANELS: dict[str, Callable[[Prompt], None]] = {
    "continue": strategies.show,
    "beam": beam.show,
    "speculative": speculative.show,
}
TALK = "conversation"

page.begin(FACTS, always=models.always())
section = controls.sections(FACTS.sections)
box, choice = st.columns([4, 1], vertical_alignment="bottom")
with choice:
    model = models.choose("decoder", why_not=models.silent, default=models.first(), reads="the stream")
if section == TALK:
    conversation.show(model)
else:
    with box:
        pasted = text_box(model, "Prompt", "text", text_of(model), CHARACTERS, height=68, named=False, kind="prompt")
    second = st.container(horizontal=True)
    offer_real(model, pasted)
    given = prompt(model, pasted)
    if given.ids:
        if section == "token":
            token.show(given, second)
        else:
            PANELS[section](given)
    else:
        say_nothing_read(
            model, pasted, "text", "There is no text yet: type or paste some above, or press Ctrl+Z in the box."
        )
