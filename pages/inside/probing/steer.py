"""Section of the page on probing: a direction added to the stream, what the model then says, and where it collapses."""

from collections.abc import Sequence
from typing import Any, Literal

import streamlit as st

from pages.inside.continuations import continuations
from pages.inside.probing.choices import PAIRS, REAL, choose_layer, choose_model, class_boxes, has_real, unusable
from pages.inside.reading import checked
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, place_of
from pages.ui.frame import Panel, panel
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import text_box
from pages.ui.work.filling import fill
from tfcore.views.inside import probing as views
from tfcore.views.inside.probing.measure import steering
from tfcore.views.inside.probing.measure.steering import FACTORS, OfFeature, Steered
from tfcore.views.inside.probing.measure.two_classes import METHODS, Method, OfClasses
from tfcore.views.sources import Reading

CHARACTERS = 500
LETTER = "When the old man opened the letter, he"
PARK = "One day, Tom went to the park. He was"
CHILD = "One day, there was a little child. Then"
DOG = 622  # a feature of the autoencoder of stories
Source = Method | Literal["feature"]
SOURCES: dict[Source, str] = {"means": METHODS["means"], "probe": METHODS["probe"], "feature": "feature"}
WITH_FEATURES = "stories"  # a model that has a sparse autoencoder
TRY: dict[str, dict[str, Any]] = {
    "happy in the park": {**PAIRS["joy"], "model": WITH_FEATURES, "prompt": PARK, "source": "means", "factor": 3.0},
    "a boy, not a girl": {**PAIRS["girls"], "model": WITH_FEATURES, "prompt": CHILD, "source": "means", "factor": -2.0},
    "a feature of dogs": {"model": WITH_FEATURES, "prompt": PARK, "source": "feature", "feature": DOG, "factor": 1.0},
    "too much": {**PAIRS["joy"], "model": WITH_FEATURES, "prompt": PARK, "source": "means", "factor": 8.0},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "a good letter": {**PAIRS["joy"], "model": REAL, "prompt": LETTER, "source": "means", "after": 14, "factor": 1.0},
    "a bad letter": {**PAIRS["joy"], "model": REAL, "prompt": LETTER, "source": "means", "after": 14, "factor": -1.0},
    "into French": {
        **PAIRS["French"],
        "model": REAL,
        "prompt": "Yesterday I went to the market and",
        "source": "means",
        "after": 11,
        "factor": 1.0,
    },
}


def steer() -> None:
    """Show the section."""
    box, beside = st.columns([4, 1], vertical_alignment="bottom")
    with beside:
        model = choose_model()
    with box:
        first = LETTER if model == REAL else PARK
        pasted = text_box(model, "Text", "prompt", first, CHARACTERS, height=68, named=False, kind="prompt")
    offer_real(model, pasted)
    with panel() as p:
        p.examples({**(TRY_REAL if has_real() else {}), **TRY})
        options = [one for one in SOURCES if one != "feature" or model == WITH_FEATURES]
        with p.controls:
            factor = controls.stops("Factor", "factor", list(FACTORS), 1.0, {f: f"{f:+g}" for f in FACTORS})
            source = controls.segmented("Direction", "source", options, "means", SOURCES)
            chosen = choose_feature() if source == "feature" else choose_layer(model)
            with page.more_settings():
                one, two = class_boxes(180, (st.container(), st.container()))
        if source != "feature" and unusable(model, one, two):
            return
        along = OfFeature(model, chosen) if source == "feature" else OfClasses(one, two, source, chosen)
        ids = checked(model, pasted, views.TOKENS).ids
        reading, network = Reading(model, pasted), cache.model(model)[0]
        with p.picture:
            fill(
                ("steer", reading, along),
                steering.operations(network.config, len(ids)),
                lambda: steering.steer(network, ids, views.direction_of(model, along)),
                lambda: [views.steered_of(reading, along)],
                lambda steered: draw(p, reading, along, factor, steered),
                steering.NEW_TOKENS + 1,
                "token",
            )
        p.what_to_see(
            "The direction is added at every token of the text and of what follows; with factor 1 it is as long as the "
            "difference between the means of the classes, or as what a feature writes at its largest activation. Small "
            "factors change what is said, large ones whether anything is said at all: the text repeats itself, or "
            "becomes one that the model as it is finds improbable (grey). Between the two is the room in which "
            "steering works; compare it at other layers. The two classes are under More settings."
        )
        p.question(
            "Why does a larger factor not simply give a happier text?",
            "Later layers have learned to read states like those of real texts. Far along one direction, the state is "
            "like none of them: norms shrink all other directions, and little of the text is left in the state.",
        )


def choose_feature() -> int:
    """A control for one of the features of the sparse autoencoder of the stream."""
    names = dict(enumerate(views.feature_labels(WITH_FEATURES)))
    return controls.select("Feature of the stream after layer 2", "feature", list(names), DOG, names)


def draw(p: Panel, reading: Reading, along: OfClasses | OfFeature, factor: float, so_far: Sequence[Steered]) -> None:
    """The next token, the texts, and once they are written where they collapse."""
    if not so_far:
        st.info("The sentences of the classes are being read.")
        return
    latest = so_far[-1]
    left, right = st.columns(2, gap="large")
    with left:
        shown = views.next_by_factor(reading, along, factor, so_far=latest)
        p.show(shown, click, "Click a point to choose its factor.")
    with right:
        if latest.nats is None:
            st.info(
                "The text is being continued with every factor; where it collapses is measured after the last token."
            )
        else:
            p.show(views.where_it_collapses(reading, along, factor, so_far=latest))
    usual, changed = (latest.tokens[FACTORS.index(one)].tolist() for one in (0.0, factor))
    continuations(str(reading.model), {"As it is": usual, f"Steered, factor {factor:+g}": changed})


def click(event: Event) -> None:
    """A click on a point chooses its factor."""
    if (place := place_of(event, len(FACTORS))) is not None:
        controls.set_values(factor=FACTORS[place])
