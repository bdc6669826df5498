"""The text, layer and head whose queries, keys and values the panels on flash and ring attention use."""

from typing import NamedTuple

import streamlit as st

from pages.ui import cache, controls, fragments, notices, text
from pages.ui.loading import models
from pages.ui.reading import FirstTokens, first_tokens
from tfcore.analysis.inference.head_vectors import HeadVectors, head_vectors

MODEL = "stories"
CHARACTERS, TOKENS = 2_000, 64
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away and Lily "
    "ran after it. She was very sad."
)


class Head(NamedTuple):
    """Whose vectors: all that is needed to compute them again."""

    pasted: str
    layer: int
    head: int
    tokens: list[str]
    labels: list[str]


def read(pasted: str) -> FirstTokens:
    """The text as both panels use it."""
    return first_tokens(MODEL, pasted, TOKENS)


def vectors(pasted: str, layer: int, head: int) -> HeadVectors:
    return head_vectors(cache.model(MODEL)[0], read(pasted).ids, layer, head)


def choose() -> Head:
    """The controls; without a text nothing more is drawn."""
    models.only(MODEL, "tiles and rings do the same with the heads of any model; only the numbers differ.")
    config = cache.model(MODEL)[0].config
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=100)
    layer = controls.slider("Layer", "layer", 0, config.n_layers - 1, 1)
    head = controls.slider("Head", "head", 0, config.n_heads - 1, 4)
    ids, tokens, total = read(pasted)
    notices.tokens(total, len(ids))
    if not ids:
        st.info("There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        fragments.stop()
    return Head(pasted, layer, head, tokens, text.tick_labels(tokens))
