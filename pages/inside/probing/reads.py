"""Section of the page on probing: what a probe reads after each layer, beside a control task."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.probing import experiments
from pages.inside.probing.defaults import click_on_layer
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.work.filling import fill
from tfcore.analysis.inside.probing import by_layer, kept, logistic, properties
from tfcore.analysis.inside.probing.by_layer import Probed, ProbedLayer, layer_name
from tfcore.analysis.inside.probing.tagged_text import tagged_words

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

every_layer = cache.of_model(max_entries=64)(experiments.every_layer)


def reads() -> None:
    """The section."""
    there = [name for name in kept.MODELS if name in models.fitting(why_not=by_layer.why_no_probe)]
    page.try_this({**TRY, **(TRY_MINILM if "minilm" in there else {})})
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
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
    if kept.kept_layers(model, target) is not None:
        draw(every_layer(model, model, target), layers, layer + 1, passage)
    else:
        network, tokenizer = cache.model(model)

        def grown(found: Sequence[ProbedLayer]) -> None:
            if found:
                partly = by_layer.probed(network, tokenizer, model, target, found)
                draw(partly, layers, min(layer + 1, len(found) - 1), passage)

        fill(
            ("probe", model, target),
            MANY,
            lambda: by_layer.probe_each(network, tokenizer, target),
            lambda: every_layer(model, model, target).layers,
            grown,
            layers,
            "layer",
        )
    words(model, target, layer + 1, layers)


def draw(found: Probed, layers: int, layer: int, passage: int) -> None:
    """Accuracy by layer, the classes at one layer, and the words of a passage as they are read there."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        shown = experiments.by_layer(found, layer, layers)
        figure(
            shown.figure,
            key="accuracy",
            height=340,
            on_click=lambda event: click_on_layer(event, layers),
            table=lambda: pd.DataFrame({"accuracy": found.accuracy(), "control task": found.control()}),
            alt=shown.alt,
            caption=f"{shown.caption} Click a point to choose its layer.",
        )
    with right:
        shown = experiments.by_class(found, layer)
        said = by_layer.class_read(found, layer)
        figure(
            shown.figure,
            key="classes",
            height=340,
            table=lambda: pd.DataFrame({"class": said.classes, "words": said.counts, "correct": said.right}),
            alt=shown.alt,
            caption=shown.caption,
        )
    chips(found, layer, passage - 1)


def chips(found: Probed, layer: int, passage: int) -> None:
    """The words of a passage, each with the class that a probe of this layer gives it."""
    predicted = found.layers[layer].predicted
    own = [i for i, word in enumerate(found.words) if word.passage == passage]
    names = [found.classes[predicted[i]] for i in own]
    st.markdown(
        f"**Passage {passage + 1} as it is read at {layer_name(layer)}**, by probes fitted without the sentence. "
        "Orange: read wrongly."
    )
    text.chips(
        [found.words[i].text for i in own],
        key="words",
        hues=[RIGHT if predicted[i] == found.labels[i] else WRONG for i in own],
        notes=names,
        titles=[
            f"read as: {name}; it is: {found.classes[found.labels[i]]}" for name, i in zip(names, own, strict=True)
        ],
        label=f"Passage {passage + 1}, word by word",
    )


def words(model: str, target: str, layer: int, layers: int) -> None:
    """What to see, the question, and how it is computed."""
    page.what_to_see(
        "Where the curve of the probe is far above that of the control task, the stream has the property in a form "
        "that a straight line finds. The control task gives each word a random label: what a probe reaches there, it "
        "has memorised word by word. At the embedding, a probe knows the word's last token alone (and where it stands, "
        "if the model adds positions there); what later layers add comes from the context: compare a word that occurs "
        "as two parts of speech, such as *light*. Look also where the curve falls again."
    )
    page.question(
        "A probe reads the part of speech of nearly all words. Does the model use it?",
        "That does not follow. A probe shows that the information is there and easy to read; whether later layers read "
        "it is a question for an intervention: remove or add the direction, and see what the model then predicts.",
    )
    found = made(experiments.every_layer, model, model, target)
    page.how_it_is_computed(
        page.experiment_of("Accuracy by layer", experiments.by_layer, found, layer, layers),
        page.experiment_of("Accuracy by class", experiments.by_class, found, layer),
        formula=(
            r"\begin{gathered} p(y \mid x) = \mathrm{softmax}(W^T \hat x + b)_y, \qquad \hat x = \frac{x}"
            r"{\mathrm{rms}(x)} \text{, standardised} \\ W, b = \arg\min\; -\frac{1}{n} \sum_i \log p(y_i \mid x_i) + "
            r"\frac{\lambda}{2} \lVert W \rVert^2, \qquad \text{selectivity} = \text{accuracy} - "
            r"\text{accuracy}_{control} \end{gathered}"
        ),
        code=(
            logistic.fit_probe,
            by_layer.word_states,
            by_layer.probe_each,
            properties.label_words,
            properties.control_labels,
        ),
        papers=PAPERS,
        terms=("linear probe", "control task"),
    )


PAPERS = (
    "Probes of every layer: arXiv:1610.01644. Control tasks and selectivity: arXiv:1909.03368. "
    "Interval: Wilson 1927, doi:10.2307/2276774; it takes words as independent, which those of a sentence are not "
    "quite, so it is a little too narrow. The state of a word is that at its last token. The text was written for this "
    "project and has its licence; it was tagged word by word by its author, a language model, after the guidelines of "
    "Universal Dependencies, without a second annotator. The results of models that come with the app are kept in the "
    "repository; `python -m tfcore.analysis.inside.probing` measures them again, others are probed now."
)
