"""The text, layer and head whose queries, keys and values the sections on flash and ring attention use; and what the
section on patterns reads and masks."""

from typing import Any, NamedTuple

import streamlit as st

from pages.ui import cache, controls, fragments, notices
from pages.ui.loading import models
from tfcore.measures.mask_patterns import Kind, MaskConfig
from tfcore.measures.one_text import UsedTokens
from tfcore.views.inference import long_context as views
from tfcore.views.inference.long_context.measure.flash import Order
from tfcore.views.inference.long_context.measure.patterns import NAMES
from tfcore.views.sources import Reading

MODEL = "stories"
CHARACTERS = 2_000  # of a text
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away and Lily "
    "ran after it. She was very sad."
)
ORDERS: dict[Order, str] = {"queries": "queries", "keys": "keys"}
WHICH = "Keys: as in FlashAttention. Queries: as in FlashAttention-2."
# kind: (who uses it, its own sliders)
PATTERNS: dict[Kind, tuple[str, list[str]]] = {
    "causal": ("Every earlier token: n(n + 1)/2 pairs.", []),
    "window": ("Mistral 7B: the last 4,096 tokens in each layer (arXiv:2310.06825).", ["window"]),
    "window_global": (
        "The first tokens stay visible to every query (after Longformer, arXiv:2004.05150).",
        ["window", "n_global"],
    ),
    "dilated": ("Gaps between the keys: reaches further for the same cost (arXiv:2004.05150).", ["window", "dilation"]),
    "blocks": ("The own block and earlier ones at a stride (after arXiv:1904.10509).", ["block", "stride"]),
}
# parameter: (label, lowest, highest, default)
SLIDERS = {
    "window": ("Window: keys per query, itself included", 1, 32, 6),
    "n_global": ("Global tokens at the start", 0, 8, 2),
    "dilation": ("Dilation: distance between keys", 1, 8, 3),
    "block": ("Block size (tokens)", 1, 16, 8),
    "stride": ("Stride: one of how many earlier blocks", 1, 8, 3),
}


class Head(NamedTuple):
    """A head of MODEL on a text, and the tokens of that text that are used."""

    reading: Reading
    layer: int
    head: int
    read: UsedTokens


def read(reading: Reading) -> UsedTokens:
    """The text as the sections use it, with a word where it was cut."""
    tokens_read = views.read(reading)
    notices.tokens(tokens_read.total, len(tokens_read.ids), which="first")
    return tokens_read


def choose_head(more: Any) -> Head:
    """The controls, layer and head in the container of More settings; without a text nothing more is drawn."""
    models.only(MODEL, "tiles and rings do the same with the heads of any model; only the numbers differ.")
    config = cache.model(MODEL)[0].config
    reading = Reading(MODEL, controls.text_area("Text", "text", TEXT, CHARACTERS, height=100))
    with more:
        layer = controls.place("Layer", "layer", config.n_layers, 1)
        head = controls.place("Head", "head", config.attention.n_heads, 4)
    tokens_read = read(reading)
    if not tokens_read.ids:
        st.info("There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        fragments.stop()
    return Head(reading, layer, head, tokens_read)


def choose_mask(more: Any) -> MaskConfig:
    """The pattern, with the values of all sliders, those not shown at their defaults."""
    kind = controls.select("Pattern", "kind", list(PATTERNS), "window", NAMES)
    st.caption(PATTERNS[kind][0])
    values: dict[str, Any] = {key: default for key, (_, _, _, default) in SLIDERS.items()}
    for i, key in enumerate(PATTERNS[kind][1]):
        label, low, high, default = SLIDERS[key]
        with more if i else st.container():
            values[key] = controls.slider(label, key, low, high, default)
    return MaskConfig(kind=kind, **values)
