"""The residual stream of a trained model: who wrote what, what it would say at each stage, its shape, and without."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.inside import _reading
from pages.inside._stream_choice import CHARACTERS, TEXT, TOKENS, Choice, choose
from pages.inside._stream_lens import logit_lens
from pages.inside._stream_parts import who_wrote
from pages.inside._stream_shape import shape
from pages.inside._stream_skip import skip
from pages.ui import controls, models, page
from tfcore.config import ModelConfig

SECTIONS: dict[str, tuple[str, Callable[[Choice], None]]] = {
    "who": ("Who wrote it", who_wrote),
    "lens": ("Logit lens", logit_lens),
    "shape": ("Length and direction", shape),
    "skip": ("Skip a layer", skip),
}
HE = "There was a little boy. One day, Sam said that"
LAST = {"token": 0, "against": -3}
TRY: dict[str, dict[str, Any]] = {
    "who finds “ball”?": {"show": "who", "text": TEXT, "position": 23, "layer": 3, "part": "head 0"},
    "who says “he”?": {"show": "who", "text": HE, "position": 11, "layer": 2, "part": "head 5"},
    "“he”, not “she”": {"show": "who", "text": HE, "position": 11, "against": 3, "layer": 2, "part": "head 5"},
    "layer by layer": {"show": "lens", "text": TEXT, "position": 23},
    "length and angle": {"show": "shape", "text": TEXT, "position": 23},
    "without attention 0": {"show": "skip", "text": TEXT, "position": 23, "skip": "attention 0"},
}


def no_sum(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why there is nothing to add up in a model, or None."""
    if config.norm_placement == "post":
        return "it normalises after every sum, so no part's share in the answer is left as it was written."
    return models.silent(config, tokenizer)


page.begin(
    "What is written in the stream?",
    "All layers write into one vector per token, and the answer is read from it at the end. Because it is a sum, each "
    "part's share in the answer can be told exactly, and the vector can be read half-way.",
)
box, beside = st.columns([4, 1], vertical_alignment="bottom")
with box:
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=68)
with beside:
    model = models.choose("decoder", why_not=no_sum)
page.try_this({name: {"model": "stories", **LAST, **values} for name, values in TRY.items()})
reading = _reading.checked(model, pasted, TOKENS)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.segmented("Look at", "show", list(SECTIONS), "who", names)
SECTIONS[section][1](choose(reading, has_reference=section == "who"))
