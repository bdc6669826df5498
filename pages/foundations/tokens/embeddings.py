"""The panel on the embedding table: lengths, neighbours, a map, and why some models scale it."""

from functools import partial
from typing import Any

import streamlit as st

from pages.foundations.tokens.text_tokens import readers
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import Event, place_of
from pages.ui.frame import Panel
from pages.ui.frame import panel as panel_of
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read, text_box
from tfcore.config import ModelConfig
from tfcore.views.foundations import tokens as views
from tfcore.views.foundations.tokens.say import embeddings as say
from tfcore.views.foundations.tokens.say.text import several_tokens

MODEL = "stories"
PIECE = " dog"
LETTERS = 24  # that can be typed
ROOT = 13.9  # the square root of its width, 192, on the slider
TRY: dict[str, dict[str, Any]] = {
    "an animal": {"piece": " dog"},
    "a colour": {"piece": " red"},
    "a relative": {"piece": " mother"},
    "a verb": {"piece": " ran"},
    "a number": {"piece": " three"},
    "a suffix": {"piece": "ing"},
    "a full stop": {"piece": "."},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "a city, in smollm2": {"model": "smollm2", "piece": " Paris"},
    "a word of code, in smollm2": {"model": "smollm2", "piece": "print"},
}


def click(model: str, event: Event) -> None:
    """A click on the map or on a neighbour chooses its token, if it can be typed."""
    tokenizer = cache.model(model)[1]
    if (token := place_of(event, tokenizer.vocab_size)) is not None:
        (piece,) = tokenizer.tokens([token])
        if views.typed(model, piece) == [token]:
            controls.set_values(piece=piece)


def no_rows(_: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model's table cannot be shown, or None: for `models.choose`."""
    return None if hasattr(tokenizer, "special_tokens") else "it has no tokenizer of text that names its rows."


def panel() -> None:
    """The rows of the table, by length and by likeness."""
    st.markdown(
        "**Each token has one row of the embedding table, learned like any other weight.** Rows with a high cosine "
        "tend to belong to tokens that occur in similar contexts."
    )
    options = readers()
    with panel_of((2, 3)) as p:
        p.examples((TRY_REAL if models.REAL in options else {}) | TRY)
        with p.controls:
            row = controls.text_row()
            model = models.choose(label="Table of", default=MODEL, why_not=no_rows, options=options, reads="the stream")
            spaced = "With the space before it, as words have it in a text."
            piece = text_box(model, "Token", "piece", PIECE, LETTERS, kind="token", height=68, help=spaced, row=row)
            ids = views.typed(model, piece)
            if not ids:
                say_nothing_read(model, piece, "piece", "There is no token yet: type a word, with a space before it.")
                return
            if len(ids) > 1:
                st.caption(text.escape(several_tokens(cache.model(model)[1].tokens(ids))))
            p.show(views.neighbours(model, piece), partial(click, model), "Click one to go there.")
        with p.picture:
            p.show(views.token_map(model, piece), partial(click, model), "Click a token to go there.")
        p.show(views.row_lengths(model, piece), partial(click, model))
        _scale(p)
        p.what_to_see(
            "In stories the nearest neighbours of “ dog” and “ red” are “ cat” and “ blue”: tokens used alike have "
            "similar rows. The map keeps only the two directions in which rows differ most; the caption says what "
            "share of the variance those hold. Near in the map need not be near in the table, so rely on the cosines."
        )
        p.question(
            "stories does not scale its embeddings and works. Why?",
            "It adds no position embeddings: RoPE rotates queries and keys instead, and the first norm brings every "
            "vector to the same length anyway. The scale matters where position embeddings are added, as in the "
            "Transformer of 2017.",
        )


@fragments.fragment
def _scale(p: Panel) -> None:
    """The square root of d, against position vectors that are added."""
    d = models.config(MODEL).d_model
    st.subheader("Why some models multiply by √d", anchor=False)
    page.try_this({"no scale": {"scale": 1.0}, "twice as long": {"scale": 2.0}, "√d": {"scale": ROOT}})
    beside, picture, curve = st.columns([2, 3, 3], gap="medium")
    with beside:
        scale = controls.slider("Scale s of the embeddings", "scale", 0.5, 20.0, ROOT, 0.1, format="%.1f")
        position = controls.slider("Position p that is added", "position", 0, 255, 50)
    shown = views.recognised(MODEL, position, scale)
    lengths, recognised = say.scaled_lengths(shown.result, 0).values, say.recognised(shown.result, 0).values
    with beside:
        st.metric("Mean length of s · E", f"{lengths['scaled']:.2f}")
        st.metric("Length of PE(p)", f"{lengths['position']:.2f}", help=f"√({d}/2) at every position")
        st.metric("Rows still nearest to themselves", f"{recognised['scaled']:.0%}")
    with picture:
        p.show(views.scaled_lengths(MODEL, position, scale))
    with curve:
        p.show(shown)
    st.caption(
        f"An experiment on the trained table of {MODEL} alone: each row is looked up in the whole table "
        f"again, which takes minutes where there are 49,152. {MODEL} itself adds no position embeddings: "
        f"unscaled, its rows are shorter than a sinusoidal vector ({lengths['mean']:.2f} against "
        f"{lengths['position']:.2f})."
    )
