"""Section of the page on probing: two sentences, their vectors, their similarity, and which tokens made it."""

from typing import Any

import streamlit as st

from pages.ui import controls, notices, text
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import first_tokens
from tfcore.views.inside import probing as views
from tfcore.views.inside.probing.measure.sentence_pairs import SentencePair, why_no_sentence_vectors
from tfcore.views.inside.probing.say import token_share

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
MEAN = (
    "A sentence vector is the mean of its tokens' vectors, so the cosine is a sum over pairs of tokens, and "
    "every cell of the matrix is an exact share of it. Look whether words of like meaning add most, or words "
    "that are the same. But after some layers every token knows its sentence: a share says where in the sum "
    "the similarity stands, not that this word alone has made it."
)
ONE_TOKEN = (
    "The folder of this model says that a sentence vector is one token's state, so one cell of the matrix is the whole "
    "cosine. Attention has brought to that token what the others have: the page on heads shows from where."
)


def sentences() -> None:
    """Show the section."""
    left, right, beside = st.columns([5, 5, 3], vertical_alignment="bottom")
    with left:
        one = controls.text_area("First sentence", "left", GUITAR, CHARACTERS, height=68)
    with right:
        two = controls.text_area("Second sentence", "right", INSTRUMENT, CHARACTERS, height=68)
    with beside:
        default = REAL if REAL in models.fitting("encoder") else "fill"
        model = models.choose("encoder", key="encoder", default=default)
    with panel(None) as p, p.picture:
        p.examples(TRY)
        if model != REAL:
            st.caption(
                "minilm was trained to give similar sentences similar vectors; a model that was trained on masked "
                "tokens alone was not."
            )
        if reason := why_no_sentence_vectors(models.config(model)):
            st.info(f"{text.escape(model)} gives no vector of a sentence: {reason}")
            return
        rows = [first_tokens(model, sentence, models.config(model).max_seq_len) for sentence in (one, two)]
        for row, name in zip(rows, ("first sentence", "second sentence"), strict=True):
            notices.tokens(row.total, len(row.ids), name, "first")
        if not all(row.ids for row in rows):
            st.info("Each of the two sentences needs at least one token: type one in both boxes.")
            return
        left, right = st.columns([3, 2], gap="large")
        with left:
            p.show(views.pair_parts(model, one, two))
        with right:
            shares(views.compared(model, one, two))
        p.what_to_see(MEAN if models.config(model).sentences == "mean" else ONE_TOKEN)
        p.question(
            "Who bites whom? Two sentences of the same words in another order: what does the cosine say?",
            "In minilm it is nearly 1: the mean forgets the order, and what is left of it is what positions and "
            "attention have written into each token. For questions of who did what to whom, a cosine of mean vectors "
            "is a poor judge. Add a *not*, and see whether it does better.",
        )


def shares(pair: SentencePair) -> None:
    """The cosine, and the tokens of both sentences with what each adds to it."""
    st.metric("Cosine similarity", f"{pair.cosine:.3f}")
    for which, (name, tokens) in enumerate((("First", pair.one), ("Second", pair.two))):
        sums = pair.parts.sum(1 - which)
        largest = max(float(sums.max()), 1e-12)
        said = str(token_share(pair, which))
        st.markdown(f"**{name} sentence**: what each token adds, all its pairs together.")
        text.chips(
            tokens,
            key=f"sums {which}",
            shade=(sums / largest).tolist(),
            notes=[f"{value:+.3f}" for value in sums],
            label=said,
        )
        st.caption(text.escape(said))
