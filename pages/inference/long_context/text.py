"""The text, layer and head whose queries, keys and values the panels on flash and ring attention use."""

from typing import Any, NamedTuple

import streamlit as st

from pages.ui import cache, controls, fragments, notices
from pages.ui.loading import models
from pages.ui.reading import FirstTokens, first_tokens

MODEL = "stories"
CHARACTERS = 2_000  # of a text
TOKENS = 64  # of a text, at most
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away and Lily "
    "ran after it. She was very sad."
)


class Head(NamedTuple):
    """A head of MODEL on a text."""

    pasted: str
    layer: int
    head: int
    read: FirstTokens

    @property
    def key(self) -> tuple[str, str, int]:
        """The model, the text, and how many of its tokens are used at most."""
        return MODEL, self.pasted, TOKENS


def read(pasted: str) -> FirstTokens:
    """The text as the panels use it, with a word where it was cut."""
    found = first_tokens(MODEL, pasted, TOKENS)
    notices.tokens(found.total, len(found.ids))
    return found


def choose(more: Any) -> Head:
    """The controls, layer and head in the container of More settings; without a text nothing more is drawn."""
    models.only(MODEL, "tiles and rings do the same with the heads of any model; only the numbers differ.")
    config = cache.model(MODEL)[0].config
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=100)
    with more:
        layer = controls.place("Layer", "layer", config.n_layers, 1)
        head = controls.place("Head", "head", config.n_heads, 4)
    found = read(pasted)
    if not found.ids:
        st.info("There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        fragments.stop()
    return Head(pasted, layer, head, found)
