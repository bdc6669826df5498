"""The front page's stage: a text and its river."""

import streamlit as st

from pages.ui import cache, controls, flow, links, page
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from tfcore.analysis.inside.quantities import Quantity

CHARACTERS = 2_000
REAL = "smollm2"
TEXT = "Sam was a little boy. One day, Sam said that"
BALL = "Max lost his red ball. One day Max found the red"
NAMES = "When Mary and John went to the store, John gave a drink to"
NONE = {"heads": "", "measured": "0", "open": ""}
PAGE = "inside/flow/page.py"


def show() -> str:
    """The text, the river, what can be done with it; returns the model."""
    box, choice = st.columns([8, 2], vertical_alignment="bottom")
    with choice:
        model = models.choose()
    with box:
        pasted = controls.text_area("Your text", "text", TEXT, CHARACTERS, height=68, named=False)
    offer_real(model, pasted)
    real = {"Mary or John?": {**NONE, "model": REAL, "text": NAMES}}
    shipped = {
        "he or she?": {**NONE, "model": models.DEFAULT, "text": TEXT},
        "a red ball again": {**NONE, "text": BALL},
    }
    page.try_this({**shipped, **(real if REAL in models.fitting("decoder", why_not=models.silent) else {})})
    network, tokenizer = cache.model(model)
    if network.config.architecture != "decoder" or models.silent(network.config, tokenizer):
        st.info(f"A river is drawn of decoders, which write. Below is the map of {model}.")
        return model
    if not flow.read_text(model, pasted, flow.TOKENS).ids:
        st.info("There is no text yet: type or paste some above, or pick an example.")
        return model
    opened, rank = flow.asked_layers(model), flow.asked_rank()
    drawn = flow.read(model, pasted)
    explained = Quantity("prediction", drawn.ranked[rank])
    flow.show(drawn, opened, explained, str(drawn.story), lambda place: controls.set_values(measured=str(place)))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        flow.write(drawn, temperature=0.0)
        flow.restore(drawn)
        view = {"model": model, "heads": drawn.heads, **links.text_parameters("text", pasted)}
        links.to(PAGE, view, "The same on its own page, with settings and explanation", ":material/waves:")
    return model
