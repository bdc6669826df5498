"""Section of the page on probing: a direction added to the stream, what the model then says, and where it collapses."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.continuations import continuations
from pages.inside.probing import experiments
from pages.inside.probing.defaults import PAIRS, REAL, choose_layer, choose_model, class_boxes, has_real, read, unusable
from pages.inside.reading import Reading
from pages.ui import cache, controls, page
from pages.ui.components.figure import Event, figure, place_of
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import text_box
from pages.ui.work.filling import fill
from tfcore.analysis.inside.features.one_feature import token_words
from tfcore.analysis.inside.probing import steering, two_classes
from tfcore.analysis.inside.probing.steering import FACTORS, NEW_TOKENS, Steered
from tfcore.analysis.inside.probing.two_classes import METHODS, Direction, Method
from tfcore.measures.dictionaries.feature_scan import load_feature_scan

TOKENS = 48
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
Given = tuple[str, Source, str, str, int, int]  # of a direction: see `direction`


def direction(model: str, source: Source, one: str, two: str, layer: int, feature: int) -> Direction:
    """Of a feature of the model's sparse autoencoder, or of two classes."""
    if source == "feature":
        return steering.feature_direction(model, feature)
    return two_classes.class_direction(read(model, one, two), layer, source)


@cache.data(max_entries=24)
def steered(pasted: str, given: Given) -> Steered:
    return experiments.steered(*cache.model(given[0]), pasted, TOKENS, direction(*given))


def steer() -> None:
    """The section."""
    box, beside = st.columns([4, 1], vertical_alignment="bottom")
    with beside:
        model = choose_model()
    with box:
        first = LETTER if model == REAL else PARK
        pasted = text_box(model, "Text", "prompt", first, CHARACTERS, height=68, named=False, kind="prompt")
    offer_real(model, pasted)
    page.try_this({**(TRY_REAL if has_real() else {}), **TRY})
    options = [one for one in SOURCES if one != "feature" or model == WITH_FEATURES]
    controls_beside, right = st.columns([1, 3], gap="medium")
    with controls_beside:
        factor = controls.stops("Factor", "factor", list(FACTORS), 1.0, {f: f"{f:+g}" for f in FACTORS})
        if (source := controls.segmented("Direction", "source", options, "means", SOURCES)) == "feature":
            feature, layer = choose_feature(), 0
        else:
            feature, layer = DOG, choose_layer(model)
        with page.more_settings():
            one, two = class_boxes(180, (st.container(), st.container()))
    if source != "feature" and unusable(model, one, two):
        return
    reading = _reading.checked(model, pasted, TOKENS)
    given: Given = (model, source, one, two, layer, feature)
    network = cache.model(model)[0]

    def work() -> Iterator[Steered]:
        yield from steering.steer(network, reading.ids, direction(*given))

    with right:
        fill(
            ("steer", pasted, given),
            steering.operations(network.config, len(reading.ids)),
            work,
            lambda: [steered(pasted, given)],
            lambda found: draw(reading, found, factor),
            NEW_TOKENS + 1,
            "token",
        )
    words(pasted, given, factor)


@cache.data(max_entries=1)
def feature_labels() -> list[str]:
    """For each feature, its number and the tokens it is active on most often."""
    tokenizer = cache.model(WITH_FEATURES)[1]
    own = token_words(load_feature_scan(WITH_FEATURES), steering.AUTOENCODER, tokenizer)
    return [f"{i} {name}".strip() for i, name in enumerate(own)]


def choose_feature() -> int:
    """A control for one of the features of the sparse autoencoder of the stream."""
    names = dict(enumerate(feature_labels()))
    return controls.select("Feature of the stream after layer 2", "feature", list(names), DOG, names)


def draw(reading: Reading, found: Sequence[Steered], factor: float) -> None:
    """What there is so far: the next token, the texts, and once they are written where they collapse."""
    if not found:
        st.info("The sentences of the classes are being read.")
        return
    latest, tokenizer = found[-1], cache.model(reading.model)[1]
    left, right = st.columns(2, gap="large")
    with left:
        shown = experiments.next_by_factor(tokenizer, latest, factor)
        ids = steering.followed_tokens(latest)
        figure(
            shown.figure,
            key="next",
            height=330,
            on_click=click,
            table=lambda: pd.DataFrame(latest.probabilities[:, ids], FACTORS, tokenizer.tokens(ids)),
            alt=shown.alt,
            caption=f"{shown.caption} Click a point to choose its factor.",
        )
    with right:
        if latest.nats is None:
            st.info(
                "The text is being continued with every factor; where it collapses is measured after the last token."
            )
        else:
            shown = experiments.where_it_collapses(latest, factor)
            figure(
                shown.figure,
                key="collapse",
                height=330,
                table=lambda: pd.DataFrame({"factor": FACTORS, "nats": latest.nats, "repeated": latest.repeated()}),
                alt=shown.alt,
                caption=shown.caption,
            )
    usual, changed = (latest.tokens[FACTORS.index(one)].tolist() for one in (0.0, factor))
    continuations(reading.model, {"As it is": usual, f"Steered, factor {factor:+g}": changed})


def click(event: Event) -> None:
    """A click on a point chooses its factor."""
    if (place := place_of(event, len(FACTORS))) is not None:
        controls.set_values(factor=FACTORS[place])


def words(pasted: str, given: Given, factor: float) -> None:
    """What to see, the question, and how it is computed."""
    page.what_to_see(
        "The direction is added at every token of the text and of what follows; with factor 1 it is as long as the "
        "difference between the means of the classes, or as what a feature writes at its largest activation. Small "
        "factors change what is said, large ones whether anything is said at all: the text repeats itself, or becomes "
        "one that the model as it is finds improbable (grey). Between the two is the room in which steering works; "
        "compare it at other layers. The two classes are under More settings."
    )
    page.question(
        "Why does a larger factor not simply give a happier text?",
        "Later layers have learned to read states like those of real texts. Far along one direction, the state is like "
        "none of them: norms shrink all other directions, and little of the text is left in the state.",
    )
    model, source, one, two, layer, feature = given
    if source == "feature":
        along = made(steering.feature_direction, model, feature)
    else:
        along = made(two_classes.class_direction, made(two_classes.read_classes, model, one, two), layer, source)
    found = made(experiments.steered, model, pasted, TOKENS, along)
    page.how_it_is_computed(
        page.experiment_of("The next token by factor", experiments.next_by_factor, model, found, factor),
        page.experiment_of("Where it collapses", experiments.where_it_collapses, found, factor),
        formula=(
            r"\begin{gathered} x_t \leftarrow x_t + c\, v \quad \text{at every token } t \text{, after one layer} \\ "
            r"\text{collapsed: } \frac{1}{n} \sum_t -\log p(y_t \mid y_{<t}) > 4 \text{ nats} \quad \text{or} \quad "
            r"1 - \frac{\text{different runs of 3 tokens}}{\text{runs of 3 tokens}} > 60\,\% \end{gathered}"
        ),
        code=(steering.steer, steering.continuation_nats, steering.repeated_share, steering.collapse),
        papers=(
            "Activation addition: arXiv:2308.10248; from means of many pairs: arXiv:2312.06681. "
            "A feature's direction is what it writes at its largest activation in held-out texts. The bounds of the "
            "collapse are ours."
        ),
        terms=("steering vector",),
    )
