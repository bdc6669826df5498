"""Section of the page on probing: two sentences, their vectors, their similarity, and which tokens made it."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.probing import experiments
from pages.ui import cache, controls, notices, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens
from tfcore.analysis.inside.probing import sentence_pairs
from tfcore.analysis.inside.probing.sentence_pairs import SentencePair
from tfcore.figures.inside.sentence_pairs import COLUMN

CHARACTERS = 300
REAL = "minilm"
GUITAR, INSTRUMENT = "A man is playing a guitar.", "Someone plays an instrument."
TRY: dict[str, dict[str, Any]] = {
    "other words": {"left": GUITAR, "right": INSTRUMENT},
    "who bites whom?": {"left": "The dog bites the man.", "right": "The man bites the dog."},
    "not": {"left": "I like this film.", "right": "I do not like this film."},
    "two banks": {"left": "The bank raised its interest rates.", "right": "We sat on the bank of the river."},
    "nothing in common": {"left": GUITAR, "right": "The stock market fell sharply."},
}

compared = cache.of_model(max_entries=64)(experiments.compared)


def sentences() -> None:
    """The section."""
    left, right, beside = st.columns([5, 5, 3], vertical_alignment="bottom")
    with left:
        one = controls.text_area("First sentence", "left", GUITAR, CHARACTERS, height=68)
    with right:
        two = controls.text_area("Second sentence", "right", INSTRUMENT, CHARACTERS, height=68)
    with beside:
        default = REAL if REAL in models.fitting("encoder") else "fill"
        model = models.choose("encoder", key="encoder", default=default)
    page.try_this(TRY)
    if model != REAL:
        st.caption(
            "minilm was trained to give similar sentences similar vectors; a model that was trained on masked tokens "
            "alone was not."
        )
    rows = [first_tokens(model, sentence, models.config(model).max_seq_len) for sentence in (one, two)]
    for row, name in zip(rows, ("first sentence", "second sentence"), strict=True):
        notices.tokens(row.total, len(row.ids), name)
    if not all(row.ids for row in rows):
        st.info("Each of the two sentences needs at least one token: type one in both boxes.")
        return
    found = compared(model, one, two)
    picture(found)
    words(model, one, two)


def picture(found: SentencePair) -> None:
    """The matrix, and the tokens of both sentences with what they add."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        shown = experiments.pair_parts(found)
        figure(
            shown.figure,
            key="pairs",
            height=shown.figure.layout.height,
            min_width=COLUMN * len(found.two) + 90,
            table=lambda: pd.DataFrame(found.parts, found.one, found.two),
            alt=shown.alt,
            caption=shown.caption,
        )
    with right:
        st.metric("Cosine similarity", f"{found.cosine:.3f}")
        for which, (name, tokens) in enumerate((("First", found.one), ("Second", found.two))):
            sums = found.parts.sum(1 - which)
            largest = max(float(sums.max()), 1e-12)
            said = sentence_pairs.token_share(found, which)
            st.markdown(f"**{name} sentence**: what each token adds, all its pairs together.")
            text.chips(
                tokens,
                key=f"sums {which}",
                shade=(sums / largest).tolist(),
                notes=[f"{value:+.3f}" for value in sums],
                label=str(said),
            )
            st.caption(text.escape(str(said)))


def words(model: str, one: str, two: str) -> None:
    """What to see, the question, and how it is computed."""
    page.what_to_see(
        "A sentence vector is the mean of its tokens' vectors, so the cosine is a sum over pairs of tokens, and every "
        "cell of the matrix is an exact share of it. Look whether words of like meaning add most, or words that are "
        "the same. But after some layers every token knows its sentence: a share says where in the sum the similarity "
        "stands, not that this word alone has made it."
    )
    page.question(
        "Who bites whom? Two sentences of the same words in another order: what does the cosine say?",
        "In minilm it is nearly 1: the mean forgets the order, and what is left of it is what positions and attention "
        "have written into each token. For questions of who did what to whom, a cosine of mean vectors is a poor "
        "judge. Add a *not*, and see whether it does better.",
    )
    found = made(experiments.compared, model, one, two)
    page.how_it_is_computed(
        page.experiment(experiments.pair_parts, found),
        formula=(
            r"\cos(u, v) = \frac{u \cdot v}{\lVert u \rVert \lVert v \rVert} = \sum_{i, j} \frac{h_i \cdot g_j}"
            r"{n\, m\, \lVert u \rVert \lVert v \rVert}, \qquad u = \frac{1}{n} \sum_i h_i, \quad "
            r"v = \frac{1}{m} \sum_j g_j"
        ),
        code=(sentence_pairs.compare_sentences, sentence_pairs.similarity),
        papers=(
            "Sentence vectors by mean pooling: arXiv:1908.10084, section 3. minilm is all-MiniLM-L6-v2, which was "
            "trained on pairs of sentences. Special tokens, such as [CLS], take part in the mean, as in the model's "
            "published code."
        ),
        terms=("sentence embedding",),
    )
