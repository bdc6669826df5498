"""Section of the page on probing: two classes of a visitor's own sentences, and the direction between them."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inside.probing.choices import (
    PAIRS,
    REAL,
    choose_layer,
    choose_model,
    class_boxes,
    click_on_layer,
    has_real,
    unusable,
)
from pages.ui import controls, notices
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.reading import begin_with, last_tokens
from tfcore.views.inside import probing as views
from tfcore.views.inside.probing.measure.two_classes import METHODS, OfClasses
from tfcore.views.sources import Reading

CHARACTERS = 300
TEXT = "The sad boy found his lost dog and smiled with joy."
SHE = "The boy and the girl went home, and she gave him her hat."
TRY: dict[str, dict[str, Any]] = {
    "joy and sorrow": {**PAIRS["joy"], "projected": TEXT},
    "girls and boys": {**PAIRS["girls"], "projected": SHE},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "French and English": {**PAIRS["French"], "projected": "He said bonjour and ordered a croissant.", "model": REAL}
}


def classes() -> None:
    """Show the section."""
    left, right, beside = st.columns([5, 5, 3], vertical_alignment="top")
    one, two = class_boxes(76, (left, right))
    with beside:
        model = choose_model()
    with panel() as p:
        p.examples({**TRY, **(TRY_REAL if has_real() else {})})
        with p.controls:
            layer = choose_layer(model)
            method = controls.segmented("Direction", "method", list(METHODS), "means", METHODS)
            pasted = controls.text_line("Text along it", "projected", begin_with(model, "projected", TEXT), CHARACTERS)
        if unusable(model, one, two):
            return
        with p.picture:
            pictures(p, model, pasted, OfClasses(one, two, method, layer))
        p.what_to_see(
            "With a handful of sentences and many more dimensions there is nearly always a direction that tells the "
            "sentences it was fitted to apart; only sentences that were held out say whether it stands for more. In "
            "the last layers the tokens that it points at may be words of one kind; in earlier ones they may say "
            "nothing, because later layers still transform it. Use it in the next section, and see what it does."
        )
        p.question(
            "Put the same topics into both classes, or different ones. What does the direction then stand for?",
            "For whatever tells the classes apart. If all sentences of one class are about dogs, it is also a "
            "direction of dogs. Pairs of sentences that differ in one thing alone make it purer: that is why the two "
            "sentences of a line are held out together.",
        )


def pictures(p: Panel, model: str, pasted: str, along: OfClasses) -> None:
    """Held-out accuracy by layer, the tokens that the direction points at, and a text along it."""
    config = models.config(model)
    above, beside = st.columns([4, 3], gap="medium")
    with above:
        click = partial(click_on_layer, places=config.n_layers + 1)
        p.show(views.classes_by_layer(model, along), click, "Click a point to choose its layer.")
    with beside:
        p.show(views.pointed_at(model, along))
    row = last_tokens(model, pasted, config.max_seq_len)
    notices.tokens(row.total, len(row.ids), "text along it")
    if not row.ids:
        st.info("There is no text to project yet: type one in the box “Text along it”.")
        return
    p.show(views.along_text(Reading(model, pasted), along))
