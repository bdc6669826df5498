"""A hint under a text that a small model cannot know: one click opens it in a real one, or a story instead."""

import streamlit as st

from pages.ui import cache, controls, keys
from pages.ui.loading.models import DEFAULT, REAL
from pages.ui.reading import last_tokens
from tfcore import available
from tfcore.views.familiarity import Familiarity
from tfcore.views.familiarity import familiarity as measured

TOKENS = 256  # of the text that are read
STORIES = {  # what it does know
    "a lost ball": "Max lost his red ball. One day Max found the red",
    "a boy named Sam": "Sam was a little boy. One day, Sam said that",
    "at the park": "Lily was very happy. She went to the park and saw a big",
}


@cache.data(max_entries=64)
def familiarity(model: str, pasted: str) -> Familiarity | None:
    """Bits that a shipped model needs for a text."""
    network, tokenizer = cache.model(model)
    return measured(network, tokenizer, model, last_tokens(model, pasted, TOKENS).ids)


def offer_real(model: str, pasted: str) -> None:
    """The hint, where it helps: the text is strange to the model. With it, the model that reads any English where it is
    there, and texts that this one knows."""
    if not model.startswith(DEFAULT) or not pasted:
        return
    known = familiarity(model, pasted)
    if known is None or not known.is_strange:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"It only knows children's stories: {known}", width="content")
        if REAL in available():
            st.button(
                f"Open this text in {REAL}",
                on_click=controls.set_values,
                kwargs={"model": REAL},
                key=keys.own("button", "open in real"),
            )
        for name, story in STORIES.items():
            st.button(
                f"Or: {name}",
                on_click=controls.set_values,
                kwargs={"text": story},
                key=keys.own("button", f"story {name}"),
                type="tertiary",
            )
