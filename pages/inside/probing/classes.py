"""Section of the page on probing: two classes of a visitor's own sentences, and the direction between them."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.probing import experiments
from pages.inside.probing.defaults import (
    PAIRS,
    REAL,
    choose_layer,
    choose_model,
    class_boxes,
    click_on_layer,
    has_real,
    read,
    unusable,
)
from pages.ui import cache, controls, notices, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import begin_with, first_tokens
from tfcore.analysis.inside.probing import two_classes
from tfcore.analysis.inside.probing.two_classes import METHODS, Method

CHARACTERS = 300
COLUMN = 24  # pixels of a token, at least
TEXT = "The sad boy found his lost dog and smiled with joy."
SHE = "The boy and the girl went home, and she gave him her hat."
TRY: dict[str, dict[str, Any]] = {
    "joy and sorrow": {**PAIRS["joy"], "projected": TEXT},
    "girls and boys": {**PAIRS["girls"], "projected": SHE},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "French and English": {**PAIRS["French"], "projected": "He said bonjour and ordered a croissant.", "model": REAL}
}

read_text = cache.of_model(max_entries=32)(two_classes.read_text)
token_rows = cache.of_model(max_entries=4)(two_classes.token_rows)
Given = tuple[str, str, Method, int]  # sentences of the classes, method, index of the layer


def classes() -> None:
    """The section."""
    left, right, beside = st.columns([5, 5, 3], vertical_alignment="top")
    one, two = class_boxes(76, (left, right))
    with beside:
        model = choose_model()
    page.try_this({**TRY, **(TRY_REAL if has_real() else {})})
    controls_beside, right = st.columns([1, 3], gap="medium")
    with controls_beside:
        layer = choose_layer(model)
        method = controls.segmented("Direction", "method", list(METHODS), "means", METHODS)
        pasted = controls.text_line("Text along it", "projected", begin_with(model, "projected", TEXT), CHARACTERS)
    if unusable(model, one, two):
        return
    with right:
        pictures(model, pasted, (one, two, method, layer))
    words(model, pasted, (one, two, method, layer))


@cache.data(max_entries=48)
def held_out(model: str, one: str, two: str, method: Method) -> Any:
    """Which sentences fall on the right side after each layer."""
    return two_classes.held_out_right(read(model, one, two), method)


@cache.data(max_entries=128)
def points_at(model: str, one: str, two: str, method: Method, layer: int) -> two_classes.PointsAt:
    """The tokens that the direction points at."""
    along = two_classes.class_direction(read(model, one, two), layer, method)
    return two_classes.points_at(*cache.model(model), along, known=token_rows(model))


def pictures(model: str, pasted: str, given: Given) -> None:
    """Held-out accuracy by layer, what the direction points at, and a text along it."""
    one, two, method, layer = given
    found, right = read(model, one, two), held_out(model, one, two, method)
    above, beside = st.columns([4, 3], gap="medium")
    with above:
        shown = experiments.classes_by_layer(right, method, layer)
        figure(
            shown.figure,
            key="accuracy",
            height=320,
            on_click=lambda event: click_on_layer(event, len(right)),
            table=lambda: pd.DataFrame(right.T).assign(sentence=found.sentences),
            alt=shown.alt,
            caption=f"{shown.caption} Click a point to choose its layer.",
        )
    with beside:
        said = points_at(model, one, two, method, layer)
        shown = experiments.pointed_at(said)
        figure(
            shown.figure,
            key="pointed",
            height=320,
            table=lambda: pd.DataFrame({"token": said.tokens, "cosine": said.cosines}),
            alt=shown.alt,
            caption=shown.caption,
        )
    limit = models.config(model).max_seq_len
    row = first_tokens(model, pasted, limit)
    notices.tokens(row.total, len(row.ids), "text along it")
    if not row.ids:
        st.info("There is no text to project yet: type one in the box “Text along it”.")
        return
    text, along = read_text(model, pasted, limit), two_classes.class_direction(found, layer, method)
    shown = experiments.along_text(text, along)
    figure(
        shown.figure,
        key="along",
        height=230,
        min_width=COLUMN * len(text.tokens),
        table=lambda: pd.DataFrame({"token": text.tokens, "score": two_classes.token_scores(text, along)}),
        alt=shown.alt,
        caption=f"{shown.caption} The first token is left out.",
    )


def words(model: str, pasted: str, given: Given) -> None:
    """What to see, the question, and how it is computed."""
    one, two, method, layer = given
    page.what_to_see(
        "With a handful of sentences and many more dimensions there is nearly always a direction that tells the "
        "sentences it was fitted to apart; only sentences that were held out say whether it stands for more. In the "
        "last layers the tokens that it points at may be words of one kind; in earlier ones they may say nothing, "
        "because later layers still transform it. Use it in the next section, and see what it does."
    )
    page.question(
        "Put the same topics into both classes, or different ones. What does the direction then stand for?",
        "For whatever tells the classes apart. If all sentences of one class are about dogs, it is also a direction of "
        "dogs. Pairs of sentences that differ in one thing alone make it purer: that is why the two sentences of a "
        "line are held out together.",
    )
    found = made(two_classes.read_classes, model, one, two)
    along = made(two_classes.class_direction, found, layer, method)
    limit = models.config(model).max_seq_len
    right, text = made(two_classes.held_out_right, found, method), made(two_classes.read_text, model, pasted, limit)
    programs = [
        page.experiment_of("Held-out accuracy", experiments.classes_by_layer, right, method, layer),
        page.experiment_of("What it points at", experiments.pointed_at, made(two_classes.points_at, model, along)),
    ]
    if pasted.strip():
        programs.append(page.experiment_of("The text along it", experiments.along_text, text, along))
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\begin{gathered} v = \bar x_1 - \bar x_2, \quad t = v \cdot \tfrac{1}{2}(\bar x_1 + \bar x_2) "
            r"\qquad \text{or} \qquad \min_{w, b}\; \frac{1}{n} \sum_i \log(1 + e^{-y_i (w \cdot \hat x_i + b)}) + "
            r"\frac{\lambda}{2} \lVert w \rVert^2 \\ \text{score}(x) = \frac{v \cdot x - t}"
            r"{\tfrac{1}{2}\, v \cdot (\bar x_1 - \bar x_2)} \end{gathered}"
        ),
        code=(
            two_classes.read_class,
            two_classes.direction_weights,
            two_classes.dual_logistic,
            two_classes.held_out_right,
            two_classes.points_at,
        ),
        papers=(
            "Difference of means as a direction: arXiv:2312.06681; compared with probes: arXiv:2310.06824. "
            "A sentence's state is the mean over its tokens but the first. The interval takes sentences as "
            "independent."
        ),
        terms=("linear probe", "unembedding"),
    )
