"""Section of the page on probing: what a probe reads after each layer, beside a control task."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.inside.probing.choices import click_on_layer
from pages.ui import cache, controls, page, text
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.work.filling import fill
from tfcore.views.inside import probing as views
from tfcore.views.inside.probing.measure import by_layer, properties, shipped
from tfcore.views.inside.probing.measure.by_layer import Probed, ProbedLayer, layer_name
from tfcore.views.inside.probing.measure.tagged_text import tagged_words

SPEECH = "part of speech"
WRONG, RIGHT = 4, 3  # hues of chips
MANY = 1e15  # floating-point operations: a model that was not measured is probed in a job
TRY: dict[str, dict[str, Any]] = {
    "nouns and verbs": {"target": SPEECH},
    "a word again": {"target": "seen before"},
    "what comes next": {"target": "next token"},
    "where in the text": {"target": "position"},
    "length of a word": {"target": "word length"},
}
TRY_MINILM = {"capitals without capitals (minilm)": {"model": "minilm", "target": "letter case"}}


def reads() -> None:
    """Show the section."""
    there = [name for name in shipped.MODELS if name in models.fitting(why_not=by_layer.why_no_probe)]
    with panel(None) as p:
        p.examples({**TRY, **(TRY_MINILM if "minilm" in there else {})})
        with p.controls:
            with st.container(width=150):
                options = {name: name for name in there}
                model = models.choose(options=options, default=models.first(), why_not=by_layer.why_no_probe)
            with st.container(width=190):
                target = controls.select("Property of a word", "target", list(properties.PROPERTIES), SPEECH)
            layers = models.config(model).n_layers + 1
            with st.container(width=340):
                layer = controls.slider("Layer (-1: the embedding)", "after", -1, layers - 2, layers // 2 - 1)
            with page.more_settings():
                passage = controls.slider("Passage shown word by word", "passage", 1, tagged_words()[-1].passage + 1, 1)

        def grown(so_far: Sequence[ProbedLayer]) -> None:
            if so_far:
                until_now = views.probed_until_now(model, target, so_far)
                draw(p, model, until_now, layers, min(layer + 1, len(so_far) - 1), passage - 1)

        with p.picture:
            if shipped.shipped_layers(model, target) is not None:
                draw(p, model, views.probed_of(model, target), layers, layer + 1, passage - 1)
            else:
                network, tokenizer = cache.model(model)  # opened here: a job's thread knows no session
                fill(
                    ("probe", model, target),
                    MANY,
                    lambda: by_layer.probe_each(network, tokenizer, target),
                    lambda: views.probed_of(model, target).layers,
                    grown,
                    layers,
                    "layer",
                )
        p.what_to_see(
            "Where the curve of the probe is far above that of the control task, the stream has the property in a "
            "form that a straight line finds. The control task gives each word a random label: what a probe reaches "
            "there, it has memorised word by word. At the embedding, a probe knows the word's last token alone (and "
            "where it stands, if the model adds positions there); what later layers add comes from the context: "
            "compare a word that occurs as two parts of speech, such as *light*. Look also where the curve falls again."
        )
        p.question(
            "A probe reads the part of speech of nearly all words. Does the model use it?",
            "That does not follow. A probe shows that the information is there and easy to read; whether later layers "
            "read it is a question for an intervention: remove or add the direction, and see what the model then "
            "predicts.",
        )


def draw(p: Panel, model: str, probed: Probed, layers: int, layer: int, passage: int) -> None:
    """Accuracy by layer, the classes at one layer, and the words of a passage as they are read there."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        click = partial(click_on_layer, places=layers)
        shown = views.by_layer(model, probed.target, layer, so_far=probed)
        p.show(shown, click, "Click a point to choose its layer.")
    with right:
        p.show(views.by_class(model, probed.target, layer, so_far=probed))
    predicted = probed.layers[layer].predicted
    own = [i for i, word in enumerate(probed.words) if word.passage == passage]
    names = [probed.classes[predicted[i]] for i in own]
    st.markdown(
        f"**Passage {passage + 1} as it is read at {layer_name(layer)}**, by probes fitted without the sentence. "
        "Orange: read wrongly."
    )
    text.chips(
        [probed.words[i].text for i in own],
        key="words",
        hues=[RIGHT if predicted[i] == probed.labels[i] else WRONG for i in own],
        notes=names,
        titles=[
            f"read as: {name}; it is: {probed.classes[probed.labels[i]]}" for name, i in zip(names, own, strict=True)
        ],
        label=f"Passage {passage + 1}, word by word",
    )
