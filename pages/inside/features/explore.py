"""The page on features: those of a text, token by token; one of them closely, and the text without it."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.continuations import continuations
from pages.inside.features import experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import Event, figure, place_of
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.inside.features import feature_edits, of_text, one_feature, rated_sample, readability
from tfcore.figures.inside.features import map_width
from tfcore.inspection.transcoders import Transcoder
from tfcore.loading import transcoders
from tfcore.measures import neuron_scan
from tfcore.measures.dictionaries.feature_scan import load_feature_scan

MODEL = "stories"
TOKENS = 64
CHARACTERS = 1_000
TYPED = 40  # characters of a token that is searched for
ROWS = (8, 12, 16, 24)  # features in the map
BEFORE = 16  # tokens of a held-out text shown before its peak
AFTER = 8  # and from it on
NEW_TOKENS = 14
FACTORS = (0.0, 3.0, 1.0, 0.25)  # of the largest activation: least, most, default, step
STREAM = 4  # index of the autoencoder
DICTIONARIES = {0: "layer 0", 1: "layer 1", 2: "layer 2", 3: "layer 3", STREAM: "stream"}
TEXT = "Lily had a dog. One day, they went to the park and saw a big"
KITE = "Tom gave Lily a big red kite. Then it was late, and it was time to go to"
DOG = 622  # of the stream
TRY: dict[str, dict[str, Any]] = {
    "the dog again": {"text": TEXT, "dictionary": STREAM, "feature4": DOG, "factor": 1.0},
    "nothing but stars": {"text": TEXT, "dictionary": STREAM, "feature4": 83, "factor": 1.0},
    "not to bed": {"text": KITE, "dictionary": STREAM, "feature4": 308, "factor": 0.0},
    "a big what?": {"text": TEXT, "dictionary": 3, "feature3": 1504, "factor": 0.0},
    "one token alone": {"text": TEXT, "dictionary": 0, "feature0": 2, "factor": 0.0},
}

activations = cache.of_model(max_entries=32)(experiments.activations)
promotion = cache.of_model(max_entries=128)(one_feature.feature_promotion)
texts = cache.of_model(max_entries=64)(one_feature.feature_texts)
held = cache.of_model(max_entries=64)(experiments.held)
ratings = cache.data(max_entries=1)(rated_sample.load_ratings)


@cache.data(max_entries=1)
def phrases() -> rated_sample.PhrasesElsewhere | None:
    """Whether what the rated features were called holds where they are weaker."""
    writes = [transcoders.chosen_dictionary(MODEL, dictionary).config.writes for dictionary in DICTIONARIES]
    return rated_sample.phrases_elsewhere(ratings(MODEL), load_feature_scan(MODEL), writes, cache.model(MODEL)[1])


@cache.data(max_entries=5)
def words(dictionary: int) -> list[str]:
    """For each feature, the tokens it is active on most often."""
    return experiments.words(cache.model(MODEL)[1], MODEL, dictionary)


def choose_feature(dictionary: int, default: int) -> int:
    """A control for one of all features; typed tokens find those that are most often active on them."""
    labels = {i: f"{i} {own}".strip() for i, own in enumerate(words(dictionary))}
    return controls.select("Feature", f"feature{dictionary}", list(labels), default, labels)


def search(dictionary: int, of: Transcoder) -> readability.TokenFeatures | None:
    """A control for a token; the features that are active on it."""
    typed = controls.text_line("Features of a token, with the space before it", "search", "", TYPED)
    ids = cache.model(MODEL)[1].encode(typed) if typed else []
    if not ids:
        return None
    scan, name = load_feature_scan(MODEL), of_text.dictionary_name(of)
    return readability.features_of_token(scan, dictionary, name, ids[0], cache.model(MODEL)[1])


def click(dictionary: int, event: Event) -> None:
    """A click on a row or a bar chooses its feature."""
    if (feature := place_of(event, len(words(dictionary)))) is not None:
        controls.set_values(**{f"feature{dictionary}": feature})


def text_map(reading: Reading, dictionary: int, feature: int, count: int, asked: tuple[int, ...]) -> page.Experiment:
    """The features of the text."""
    values = activations(MODEL, MODEL, reading.pasted, TOKENS, dictionary)
    given = reading.tokens, values, feature, count, asked
    shown = experiments.features_of_text(cache.model(MODEL)[1], MODEL, dictionary, *given)
    rows = experiments.rows_of(values, feature, count, asked)
    names = experiments.names_of(rows, words(dictionary))
    figure(
        shown.figure,
        key="map",
        height=shown.figure.layout.height,
        min_width=map_width(len(reading.tokens), names),
        on_click=lambda event: click(dictionary, event),
        table=lambda: pd.DataFrame(values[:, rows], columns=[str(row) for row in rows]).assign(token=reading.tokens),
        alt=shown.alt,
        caption=f"{shown.caption} Beside a feature's number: the tokens it is active on most often in held-out texts. "
        "Click a row to choose it.",
    )
    models.only(MODEL, "transcoders are trained for its layers alone.")
    begun = made(experiments.activations, MODEL, MODEL, reading.pasted, TOKENS, dictionary)
    return page.experiment_of(
        "The features of the text",
        experiments.features_of_text,
        MODEL,
        MODEL,
        dictionary,
        reading.tokens,
        begun,
        feature,
        count,
        asked,
    )


def one(dictionary: int, feature: int, of: Transcoder) -> list[page.Experiment]:
    """What is known of the chosen feature."""
    tokenizer = cache.model(MODEL)[1]
    title = of_text.feature_title(of, feature)
    st.subheader(title.capitalize(), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        shown = experiments.fires(tokenizer, MODEL, dictionary, feature)
        scan = load_feature_scan(MODEL)
        figure(
            shown.figure,
            key="histogram",
            height=230,
            table=lambda: pd.DataFrame({"share": scan.histogram[dictionary, feature]}),
            alt=shown.alt,
            caption=shown.caption,
        )
        strongest_texts(dictionary, feature)
    with right:
        found = promotion(MODEL, MODEL, dictionary, feature)
        shown = experiments.promoted(found)
        figure(
            shown.figure,
            key="promoted",
            height=330,
            table=lambda: pd.DataFrame({"token": found.tokens, "logits": found.lifts}),
            alt=shown.alt,
            caption=shown.caption,
        )
        near = one_feature.feature_neighbours(of, feature)
        shown = experiments.neighbours(tokenizer, MODEL, dictionary, feature)
        figure(
            shown.figure,
            key="neighbours",
            height=280,
            on_click=lambda event: click(dictionary, event),
            table=lambda: pd.DataFrame({"feature": near.features, "cosine": near.cosines}),
            alt=shown.alt,
            caption=f"{shown.caption} Click a bar to choose it.",
        )
    return [
        page.experiment_of("Its activations", experiments.fires, MODEL, MODEL, dictionary, feature),
        page.experiment_of(
            "What it promotes",
            experiments.promoted,
            made(one_feature.feature_promotion, MODEL, MODEL, dictionary, feature),
        ),
        page.experiment_of("Its neighbours", experiments.neighbours, MODEL, MODEL, dictionary, feature),
    ]


def strongest_texts(dictionary: int, feature: int) -> None:
    """Held-out texts with its largest activations, coloured by the activation at each token."""
    rows = texts(MODEL, MODEL, dictionary, feature)
    if not rows:
        st.caption("It was active in none of the held-out texts.")
        return
    st.markdown("**Where it is strongest** in held-out stories: the stronger the colour, the larger its activation.")
    tokenizer, record = cache.model(MODEL)[1], float(load_feature_scan(MODEL).record(dictionary)[feature])
    for rank, found in enumerate(rows):
        first = max(0, found.peak - BEFORE)
        cut = slice(first, found.peak + AFTER)
        text.chips(
            tokenizer.tokens(found.ids)[cut],
            key=f"text {rank}",
            selected=found.peak - first,
            shade=(found.values[cut] / record).tolist(),
            titles=neuron_scan.activation_words(found.values[cut]),
            label=f"Text {rank + 1}: {found.largest} at the marked token",
        )


@fragments.fragment
def off_or_on(reading: Reading, dictionary: int, feature: int, latest: page.Latest) -> None:
    """The feature held at a level, the next token and the text that follows."""
    factor = controls.slider(
        "Held at (0: off; 1: its largest activation in held-out texts)", "factor", *FACTORS, format="%.2f"
    )
    given = MODEL, reading.pasted, TOKENS, dictionary, feature, factor, NEW_TOKENS
    found = held(MODEL, *given)
    left, right = st.columns(2, gap="large")
    with left:
        end = reading.tokens[-1], len(reading.tokens) - 1
        shown = experiments.next_token(cache.model(MODEL)[1], found, *end)
        figure(
            shown.figure,
            key="next",
            height=shown.figure.layout.height,
            table=lambda: pd.DataFrame({"as it is": found.effect.before, "held": found.effect.after}),
            alt=shown.alt,
            caption=shown.caption,
        )
    with right:
        continuations(MODEL, {"As it is": list(found.before), found.what.capitalize(): list(found.after)})
    latest.offer(experiments.next_token, MODEL, made(experiments.held, MODEL, *given), *end, what="Off or forced on")


def explore() -> None:
    """The section."""
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=68, named=False)
    reading = _reading.checked(MODEL, pasted, TOKENS)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        dictionary = controls.segmented("Features of", "dictionary", list(DICTIONARIES), STREAM, DICTIONARIES)
        of = transcoders.chosen_dictionary(MODEL, dictionary)
        peak = int(activations(MODEL, MODEL, pasted, TOKENS, dictionary).max(0).argmax())
        chosen = st.container(width=300)
        with page.more_settings():
            count = controls.select("Rows of the map", "rows", list(ROWS), 12)
            sought = search(dictionary, of)
        first = DOG if (pasted, dictionary) == (TEXT, STREAM) else peak
        with chosen:
            feature = choose_feature(dictionary, sought.features[0] if sought and sought.features else first)
    if sought is not None:
        st.caption(text.escape(str(sought)))
    programs = [text_map(reading, dictionary, feature, count, () if sought is None else sought.features)]
    programs += one(dictionary, feature, of)
    st.subheader("Off, or forced on", anchor=False)
    latest = page.Latest()
    off_or_on(reading, dictionary, feature, latest)
    read = readability.readability(load_feature_scan(MODEL), dictionary, of_text.dictionary_name(of))
    rated = rated_sample.rated_sample(ratings(MODEL), of.config.writes, of_text.dictionary_name(of))
    page.what_to_see(
        "Each row of the map is a feature, each column a token; at most 32 features are active at a token. The "
        "strongest ones stand in the order of the tokens at which they are largest; a chosen one that is not among "
        "them comes last, and features that were searched for have their own order. Compare what a feature reads (the "
        "coloured texts) with what it writes (the tokens it raises): where both fit, it can be read as a rule. Many do "
        f"not: a feature may stand for something that no list of tokens shows. {read} {rated or ''} {phrases() or ''}"
    )
    page.question(
        "Two features are active on the same token. Why are there two, and not one?",
        "A token can mean several things at once: which word it is, what came before, what is expected next. Each "
        "feature writes its own direction, and the layer's output is their sum. Compare what two of them promote: it "
        "can differ even where their most frequent tokens are the same.",
    )
    page.how_it_is_computed(
        *programs,
        latest,
        formula=(
            r"\begin{gathered} a = \mathrm{TopK}(\mathrm{ReLU}(W_{enc}\,x + b_{enc})), \qquad "
            r"\hat y = \sum_i a_i\, d_i + b_{dec} \\ \text{held at } c: \quad y \leftarrow y + (c - a_i)\, d_i "
            r"\qquad \text{promotes: } W_U\,(\gamma \odot d_i)\; a_i / \mathrm{rms} \end{gathered}"
        ),
        code=(
            Transcoder,
            of_text.feature_activations,
            one_feature.feature_promotion,
            feature_edits.hold_feature,
            readability.readability,
            rated_sample.rated_sample,
            rated_sample.phrases_elsewhere,
        ),
        papers=(
            "Transcoders: arXiv:2406.11944, section 3.1. TopK features: arXiv:2406.04093, section 2.3. Sparse "
            "autoencoders of the stream: arXiv:2309.08600, section 2. Layers are those of the feed-forward layers' "
            "transcoders; the stream is that after block 2. Held-out texts are windows of 48 tokens, of which the "
            "first 8 are not counted: excerpts of TinyStories' validation split (arXiv:2305.07759, CDLA-Sharing-1.0)."
        ),
        terms=("transcoder", "sparse autoencoder"),
    )
