"""The page on features: those of a text, token by token; one of them closely, and the text without it."""

from typing import Any

import streamlit as st

from pages.inside import dictionaries
from pages.inside.continuations import continuations
from pages.inside.reading import checked
from pages.ui import controls, fragments, links, page, text
from pages.ui.components.figure import Event, place_of
from pages.ui.frame import Panel, panel
from pages.ui.loading.models import REAL
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import text_box
from tfcore.loading import transcoders
from tfcore.measures import neuron_scan
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.views.inside import features as views
from tfcore.views.inside.features import MODEL, STREAM, TOKENS
from tfcore.views.inside.features.measure.of_text import dictionary_name, feature_title
from tfcore.views.inside.features.say import TokenFeatures, features_of_token
from tfcore.views.sources import Reading

CHARACTERS = 1_000
TYPED = 40  # characters of a token that is searched for
ROWS = (8, 12, 16, 24)  # features in the map
BEFORE = 16  # tokens of a held-out text shown before its peak
AFTER = 8  # and from it on
FACTORS = (0.0, 3.0, 1.0, 0.25)  # of the largest activation: least, most, default, step
TEXT = "Lily had a dog. One day, they went to the park and saw a big"
KITE = "Tom gave Lily a big red kite. Then it was late, and it was time to go to"
DOG = 622  # of the stream
MOON = "In 1969 the first people walked on the Moon. Three days later the crew came back to"
FIRST = {REAL: MOON}
TRY: dict[str, dict[str, Any]] = {
    "the dog again": {"model": MODEL, "text": TEXT, "dictionary": STREAM, "feature4": DOG, "factor": 1.0},
    "nothing but stars": {"model": MODEL, "text": TEXT, "dictionary": STREAM, "feature4": 83, "factor": 1.0},
    "not to bed": {"model": MODEL, "text": KITE, "dictionary": STREAM, "feature4": 308, "factor": 0.0},
    "a big what?": {"model": MODEL, "text": TEXT, "dictionary": 3, "feature3": 1504, "factor": 0.0},
    "one token alone": {"model": MODEL, "text": TEXT, "dictionary": 0, "feature0": 2, "factor": 0.0},
}


CODE = "def area(width, height):\n    return width * height\n\ndef perimeter(width, height):\n    return 2 * ("
WORDS = "The French word for cat is chat, and the French word for dog is"
TRY_REAL: dict[str, dict[str, Any]] = {
    "a program": {"model": REAL, "text": CODE, "dictionary": 2, "factor": 0.0},
    "two languages": {"model": REAL, "text": WORDS, "dictionary": 5, "factor": 0.0},
}
MANY = 5  # dictionaries, above which they are a list


def examples() -> dict[str, dict[str, Any]]:
    """The examples of the models that are there."""
    return {**(TRY_REAL if REAL in dictionaries.there() else {}), **TRY}


def key_of(model: str, dictionary: int) -> str:
    """The key of the control for one of all features."""
    return f"feature{dictionary}" if model == MODEL else f"{model}_feature{dictionary}"


def choose_feature(model: str, dictionary: int, default: int) -> int:
    """A control for one of all features; typed tokens find those that are most often active on them."""
    labels = {i: f"{i} {own}".strip() for i, own in enumerate(views.words_of(model, dictionary))}
    return controls.select("Feature", key_of(model, dictionary), list(labels), default, labels)


def begin(reading: Reading, dictionary: int) -> int:
    """The feature that is shown at first; links of before mean the most active one."""
    if links.is_old("3"):
        first = DOG if (reading.text, dictionary) == (TEXT, STREAM) else None
    else:
        first = views.telling_feature(reading, dictionary)
    return int(views.activations_of(reading, dictionary).max(0).argmax()) if first is None else first


def search(model: str, dictionary: int) -> TokenFeatures | None:
    """A control for a token; the features that are active on it."""
    typed = controls.text_line("Features of a token, with the space before it", "search", "", TYPED)
    tokenizer = views.tokenizer_of(model)
    ids = tokenizer.encode(typed) if typed else []
    if not ids:
        return None
    name = dictionary_name(transcoders.chosen_dictionary(model, dictionary))
    return features_of_token(load_feature_scan(model), dictionary, name, ids[0], tokenizer)


def click(model: str, dictionary: int, event: Event) -> None:
    """A click on a row or a bar chooses its feature."""
    if (feature := place_of(event, len(views.words_of(model, dictionary)))) is not None:
        controls.set_values(**{key_of(model, dictionary): feature})


def one(p: Panel, model: str, dictionary: int, feature: int) -> None:
    """Show the chosen feature."""
    title = feature_title(transcoders.chosen_dictionary(model, dictionary), feature)
    st.subheader(title.capitalize(), anchor=False)
    st.markdown(text.escape(str(views.label_of(model, dictionary, feature))))
    left, right = st.columns([3, 2], gap="large")
    with left:
        p.show(views.fires(model, dictionary, feature))
        strongest_texts(model, dictionary, feature)
    with right:
        p.show(views.promoted(model, dictionary, feature))
        near = views.neighbours(model, dictionary, feature)
        p.show(near, lambda event: click(model, dictionary, event), "Click a bar to choose it.")


def strongest_texts(model: str, dictionary: int, feature: int) -> None:
    """Held-out texts with its largest activations, coloured by the activation at each token."""
    rows = views.texts_of(model, dictionary, feature)
    if not rows:
        st.caption("It was active in none of the held-out texts.")
        return
    st.markdown("**Where it is strongest** in held-out texts: the stronger the colour, the larger its activation.")
    tokenizer, record = views.tokenizer_of(model), float(load_feature_scan(model).record(dictionary)[feature])
    for rank, row in enumerate(rows):
        first = max(0, row.peak - BEFORE)
        cut = slice(first, row.peak + AFTER)
        text.chips(
            tokenizer.tokens(row.ids)[cut],
            key=f"text {rank}",
            selected=row.peak - first,
            shade=(row.values[cut] / record).tolist(),
            titles=neuron_scan.activation_words(row.values[cut]),
            label=f"Text {rank + 1}: {row.largest} at the marked token",
        )


@fragments.fragment
def off_or_on(p: Panel, reading: Reading, dictionary: int, feature: int) -> None:
    """The feature held at a level, the next token and the text that follows."""
    factor = controls.slider(
        "Held at (0: off; 1: its largest activation in held-out texts)", "factor", *FACTORS, format="%.2f"
    )
    held = views.held_of(reading, dictionary, feature, factor)
    left, right = st.columns(2, gap="large")
    with left:
        p.show(views.next_token(reading, dictionary, feature, factor))
    with right:
        continuations(str(reading.model), {"As it is": list(held.before), held.what.capitalize(): list(held.after)})


def explore() -> None:
    """Show the section."""
    box, beside = st.columns([5, 1], vertical_alignment="bottom")
    with beside:
        model = dictionaries.choose()
    with box:
        pasted = text_box(model, "Text", "text", FIRST.get(model, TEXT), CHARACTERS, height=68, named=False, end="last")
    offer_real(model, pasted)
    checked(model, pasted, TOKENS)
    reading, offered = Reading(model, pasted), views.dictionaries_of(model)
    with panel(None) as p:
        with p.controls:
            first = views.first_dictionary(model)
            if len(offered) > MANY:
                with st.container(width=140):
                    dictionary = controls.select("Features of", "dictionary", list(offered), first, offered)
            else:
                dictionary = controls.segmented("Features of", "dictionary", list(offered), first, offered)
            chosen = st.container(width=300)
            with page.more_settings():
                count = controls.select("Rows of the map", "rows", list(ROWS), 12)
                sought = search(model, dictionary)
            found = sought.features[0] if sought and sought.features else begin(reading, dictionary)
            with chosen:
                feature = choose_feature(model, dictionary, found)
        with p.picture:
            if sought is not None:
                st.caption(text.escape(str(sought)))
            asked = () if sought is None else sought.features
            p.show(
                views.features_of_text(reading, dictionary, feature, count, asked),
                lambda event: click(model, dictionary, event),
                "Click a row to choose it.",
            )
            one(p, model, dictionary, feature)
            st.subheader("Off, or forced on", anchor=False)
            off_or_on(p, reading, dictionary, feature)
        p.what_to_see(
            "Each row of the map is a feature, each column a token; at most 32 features are active at a token. The "
            "strongest ones stand in the order of the tokens at which they are largest; a chosen one that is not among "
            "them comes last, and features that were searched for have their own order. Compare what a feature reads "
            "(the coloured texts) with what it writes (the tokens it raises): where both fit, it can be read as a "
            "rule. Many do not: a feature may stand for something that no list of tokens shows. The label is the best "
            "rule of one property that a search finds, and its score is of texts that it was not found in: 1.00 where "
            "it says exactly where the feature fires, 0.50 where it says nothing. How good they are in all is under "
            "“How it is computed”."
        )
        p.question(
            "Two features are active on the same token. Why are there two, and not one?",
            "A token can mean several things at once: which word it is, what came before, what is expected next. Each "
            "feature writes its own direction, and the layer's output is their sum. Compare what two of them promote: "
            "it can differ even where their most frequent tokens are the same.",
        )
