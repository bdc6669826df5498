"""The panel on the embedding table: lengths, neighbours, a map, and why some models scale it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.tokens import experiments
from pages.foundations.tokens.text_tokens import readers
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import Event, figure, place_of
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import say_nothing_read, text_box
from tfcore.analysis.foundations import embedding_scale
from tfcore.analysis.foundations import embedding_table as tables
from tfcore.analysis.foundations.embedding_table import Neighbours
from tfcore.config import ModelConfig
from tfcore.figures.foundations import embedding_table as figures
from tfcore.measures.statistics import principal_components
from tfcore.positions import sinusoidal
from tfcore.views.foundations.tokens.say import several_tokens

MODEL = "stories"
PIECE = " dog"
LETTERS = 24  # that can be typed
NEAR = 10  # neighbours
ROOT = 13.9  # the square root of its width, 192, on the slider
SCALES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 12.0, 16.0, 20.0)
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

near = cache.of_model(max_entries=256)(experiments.near)
scale_effect = cache.of_model(max_entries=64)(embedding_scale.scale_effect)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The rows that the figures show, with their tokens as text, as bytes and as labels, and their kinds."""

    found: tables.TableMap
    pieces: list[str]
    data: list[bytes]
    labels: list[str]
    kinds: list[int]


@cache.shared(max_entries=8)
def always_drawn(model: str, evenly: bool) -> Drawn:
    """The rows that are drawn whatever was typed, their components or norms, and names: the part that takes long."""
    network, tokenizer = cache.model(model)
    ids = (tables.evenly if evenly else tables.most_used)(network, tokenizer)
    return Drawn(tables.table_map(network, ids, components=not evenly), *named(tokenizer, ids))


def named(tokenizer: Any, ids: list[int]) -> tuple[list[str], list[bytes], list[str], list[int]]:
    """Tokens as text, as bytes and as labels, and their kinds."""
    data = [tokenizer.token_bytes(i) for i in ids]
    kinds = tables.kinds(tables.with_spaces(tokenizer, ids))
    return tokenizer.tokens(ids), data, [text.label(piece) for piece in data], kinds


def drawn(model: str, evenly: bool, more: tuple[int, ...]) -> Drawn:
    """With rows that are drawn besides."""
    (network, tokenizer), always = cache.model(model), always_drawn(model, evenly)
    found = tables.with_rows(network, always.found, more)
    pieces, data, labels, kinds = named(tokenizer, found.ids[len(always.data) :].tolist())
    return Drawn(found, always.pieces + pieces, always.data + data, always.labels + labels, always.kinds + kinds)


def typed(model: str, piece: str) -> list[int]:
    """The ids of what was typed, without those that a tokenizer puts around a text."""
    tokenizer = cache.model(model)[1]
    around = tokenizer.encode("")
    return [i for i in tokenizer.encode(piece) if i not in around]


def choose(model: str, event: Event) -> None:
    """A click on the map or on a neighbour: its token, if it can be typed."""
    tokenizer = cache.model(model)[1]
    if (token := place_of(event, tokenizer.vocab_size)) is not None:
        (piece,) = tokenizer.tokens([token])
        if typed(model, piece) == [token]:
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
    page.try_this((TRY_REAL if models.REAL in options else {}) | TRY)
    left, right = st.columns([2, 3], gap="large")
    with left:
        row = controls.text_row()
        model = models.choose(label="Table of", default=MODEL, why_not=no_rows, options=options)
        spaced = "With the space before it, as words have it in a text."
        piece = text_box(model, "Token", "piece", PIECE, LETTERS, kind="token", height=68, help=spaced, row=row)
        ids = typed(model, piece)
        if not ids:
            say_nothing_read(model, piece, "piece", "There is no token yet: type a word, with a space before it.")
            return
        if len(ids) > 1:
            st.caption(text.escape(several_tokens(cache.model(model)[1].tokens(ids))))
        found = near(model, piece, NEAR)
        _neighbours(model, found)
    with right:
        _map(model, drawn(model, False, (found.token, *found.ids)), found)
    _lengths(model, drawn(model, True, (found.token,)), found.token)
    latest = page.Latest()
    _scale(latest)
    page.what_to_see(
        "In stories the nearest neighbours of “ dog” and “ red” are “ cat” and “ blue”: tokens used alike have similar "
        "rows. The map keeps only the two directions in which rows differ most; the caption says what share of the "
        "variance those hold. Near in the map need not be near in the table, so rely on the cosines."
    )
    page.question(
        "stories does not scale its embeddings and works. Why?",
        "It adds no position embeddings: RoPE rotates queries and keys instead, and the first norm brings every vector "
        "to the same length anyway. The scale matters where position embeddings are added, as in the Transformer of "
        "2017.",
    )
    page.how_it_is_computed(
        page.experiment_of("The neighbours", experiments.neighbours, made(experiments.near, model, piece, NEAR)),
        latest,
        formula=(
            r"\begin{gathered} x_i = E[t_i],\; E \in \mathbb{R}^{|V| \times d} \qquad "
            r"\cos(a, b) = \frac{a \cdot b}{|a|\,|b|} \\ "
            r"x_p = s\,E[t_p] + PE(p), \qquad s = \sqrt{d}, \qquad |PE(p)| = \sqrt{d/2} \end{gathered}"
        ),
        code=(principal_components, tables.cosine_with, embedding_scale.scale_effect, sinusoidal),
        papers="Scaling by √d: Attention Is All You Need, section 3.4, arXiv:1706.03762",
    )


def _neighbours(model: str, found: Neighbours) -> None:
    shown, pieces = experiments.neighbours(found), cache.model(model)[1].tokens(found.ids)
    figure(
        shown.figure,
        key="neighbours",
        height=340,
        on_click=partial(choose, model),
        alt=shown.alt,
        caption=f"{shown.caption} Click one to go there.",
        table=lambda: pd.DataFrame({"id": found.ids, "token": pieces, "cosine": found.cosines}),
    )


def _map(model: str, shown: Drawn, near_by: Neighbours) -> None:
    found = shown.found
    finding = tables.map_share(found, near_by)
    figure(
        figures.map_figure(found, shown.kinds, tables.KINDS, shown.labels, near_by, height=460),
        key="map",
        height=460,
        on_click=partial(choose, model),
        alt=str(finding),
        caption=f"{finding} Click a token to go there.",
        table=lambda: pd.DataFrame(
            {
                "id": found.ids,
                "token": shown.pieces,
                "x": found.points[:, 0],
                "y": found.points[:, 1],
                "length": found.norms,
            }
        ),
    )


def _lengths(model: str, shown: Drawn, token: int) -> None:
    found = shown.found
    finding = tables.row_lengths(found, shown.data, token)
    figure(
        figures.norms_figure(found, shown.kinds, tables.KINDS, token, height=260),
        key="norms",
        height=260,
        on_click=partial(choose, model),
        alt=str(finding),
        caption=f"{finding} In most vocabularies low ids are special tokens, single bytes or characters, and then come "
        "merges or words, the frequent ones first.",
        table=lambda: pd.DataFrame({"id": found.ids, "token": shown.pieces, "length": found.norms}),
    )


@fragments.fragment
def _scale(latest: page.Latest) -> None:
    """The square root of d, against position vectors that are added."""
    d = models.config(MODEL).d_model
    st.subheader("Why some models multiply by √d", anchor=False)
    page.try_this({"no scale": {"scale": 1.0}, "twice as long": {"scale": 2.0}, "√d": {"scale": ROOT}})
    beside, picture, curve = st.columns([2, 3, 3], gap="medium")
    with beside:
        scale = controls.slider("Scale s of the embeddings", "scale", 0.5, 20.0, ROOT, 0.1, format="%.1f")
        position = controls.slider("Position p that is added", "position", 0, 255, 50)
        found = scale_effect(MODEL, position, (scale, *SCALES))
        lengths, shown = embedding_scale.scaled_lengths(found, 0), experiments.scaled_embeddings(found)
        st.metric("Mean length of s · E", lengths.scaled_text)
        st.metric("Length of PE(p)", lengths.position_text, help=f"√({d}/2) at every position")
        st.metric("Rows still nearest to themselves", embedding_scale.recognised(found, 0).scaled_text)
    with picture:
        figure(
            figures.lengths_figure(found, scale, height=330),
            key="lengths",
            height=330,
            alt=str(lengths),
            caption=str(lengths),
        )
    with curve:
        figure(
            shown.figure,
            key="recognised",
            height=330,
            alt=shown.alt,
            caption=shown.caption,
            table=lambda: pd.DataFrame({"scale": found.scales, "recognised": found.recognised, "share": found.share}),
        )
    st.caption(
        f"An experiment on the trained table of {MODEL} alone: each row is looked up in the whole table "
        f"again, which takes minutes where there are 49,152. {MODEL} itself adds no position embeddings: "
        f"unscaled, its rows are shorter than a sinusoidal vector ({lengths.mean_text} against "
        f"{lengths.position_text})."
    )
    measured = made(embedding_scale.scale_effect, MODEL, position, (scale, *SCALES))
    latest.offer(experiments.scaled_embeddings, measured, what="The scale")
