"""The panel on the embedding table: lengths, neighbours, a map, and why some models scale it."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.tokens import experiments
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.foundations import embedding_table as tables
from tfcore.analysis.foundations.embedding_table import Neighbours
from tfcore.analysis.foundations.text_pieces import SeveralTokens
from tfcore.figures.foundations import embedding_table as figures
from tfcore.positions import sinusoidal

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


table_map = cache.of_model(max_entries=2)(tables.table_map)
near = cache.of_model(max_entries=256)(experiments.near)
scale_effect = cache.of_model(max_entries=64)(tables.scale_effect)


@cache.data(max_entries=2)
def vocabulary() -> tuple[list[str], list[bytes], list[str], list[int]]:
    """Every token as text, as bytes, as a label, and its kind."""
    tokenizer = cache.model(MODEL)[1]
    data = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
    return tokenizer.tokens(range(len(data))), data, [text.label(piece) for piece in data], tables.kinds(data)


def choose(event: Event) -> None:
    """A click on the map or on a neighbour: its token, if it can be typed."""
    pieces, *_ = vocabulary()
    if isinstance(token := event["customdata"], int) and 0 <= token < len(pieces):
        ids = cache.model(MODEL)[1].encode(pieces[token])
        if ids == [token]:
            controls.set_values(piece=pieces[token])


def panel() -> None:
    """The rows of the table, by length and by likeness."""
    st.markdown(
        "**Each token has one row of the embedding table, learned like any other weight.** Rows with a high cosine "
        "belong to tokens that occur in similar contexts."
    )
    page.try_this(TRY)
    published = tables.published_vocabularies()
    models.only(MODEL, f"its 2,048 rows fit into one picture; published ones have {published.span}.")
    left, right = st.columns([2, 3], gap="large")
    with left:
        piece = controls.text_area(
            "Token", "piece", PIECE, LETTERS, height=68, help="With the space before it, as words have it in a text."
        )
        ids = cache.model(MODEL)[1].encode(piece)
        if not ids:
            st.info("There is no token yet: type a word, with a space before it.")
            return
        if len(ids) > 1:
            st.caption(text.escape(SeveralTokens(tuple(cache.model(MODEL)[1].tokens(ids)))))
        found = near(MODEL, piece, NEAR)
        _neighbours(found)
    with right:
        _map(found)
    _lengths(found.token)
    latest = page.Latest()
    _scale(latest)
    page.what_to_see(
        "The nearest neighbours of “ dog” and “ red” are “ cat” and “ blue”: tokens used alike have similar rows. The "
        "map keeps only the two directions in which rows differ most; the caption says what share of the variance "
        "those hold. Near in the map need not be near in the table, so rely on the cosines."
    )
    page.question(
        "The model shown here does not scale its embeddings and works. Why?",
        "It adds no position embeddings: RoPE rotates queries and keys instead, and the first norm brings every vector "
        "to the same length anyway. The scale matters where position embeddings are added, as in the Transformer of "
        "2017.",
    )
    page.how_it_is_computed(
        page.experiment_of("The neighbours", experiments.neighbours, made(experiments.near, MODEL, piece, NEAR)),
        latest,
        formula=(
            r"\begin{gathered} x_i = E[t_i],\; E \in \mathbb{R}^{|V| \times d} \qquad "
            r"\cos(a, b) = \frac{a \cdot b}{|a|\,|b|} \\ "
            r"x_p = s\,E[t_p] + PE(p), \qquad s = \sqrt{d}, \qquad |PE(p)| = \sqrt{d/2} \end{gathered}"
        ),
        code=(tables.principal_components, tables.cosine_with, tables.scale_effect, sinusoidal),
        papers="Scaling by √d: Attention Is All You Need, section 3.4, arXiv:1706.03762",
    )


def _neighbours(found: Neighbours) -> None:
    shown, (pieces, *_) = experiments.neighbours(found), vocabulary()
    figure(
        shown.figure,
        key="neighbours",
        height=340,
        on_click=choose,
        alt=shown.alt,
        caption=f"{shown.caption} Click one to go there.",
        table=lambda: pd.DataFrame({"id": found.ids, "token": [pieces[i] for i in found.ids], "cosine": found.cosines}),
    )


def _map(near_by: Neighbours) -> None:
    found, (pieces, _, labels, kinds) = table_map(MODEL), vocabulary()
    finding = tables.map_share(found, near_by)
    figure(
        figures.map_figure(found, kinds, tables.KINDS, labels, near_by, 460),
        key="map",
        height=460,
        on_click=choose,
        alt=str(finding),
        caption=f"{finding} Click a token to go there.",
        table=lambda: pd.DataFrame(
            {"token": pieces, "x": found.points[:, 0], "y": found.points[:, 1], "length": found.norms}
        ),
    )


def _lengths(token: int) -> None:
    found, (pieces, data, _, kinds) = table_map(MODEL), vocabulary()
    finding = tables.row_lengths(found, data, token)
    figure(
        figures.norms_figure(found, kinds, tables.KINDS, token, 260),
        key="norms",
        height=260,
        on_click=choose,
        alt=str(finding),
        caption=f"{finding} Low ids are single bytes, then merges in the order in which they were learned: the "
        "frequent ones first.",
        table=lambda: pd.DataFrame({"token": pieces, "length": found.norms}),
    )


@fragments.fragment
def _scale(latest: page.Latest) -> None:
    """The square root of d, against position vectors that are added."""
    d = len(table_map(MODEL).explained)
    st.subheader("Why some models multiply by √d", anchor=False)
    page.try_this({"no scale": {"scale": 1.0}, "twice as long": {"scale": 2.0}, "√d": {"scale": ROOT}})
    beside, picture, curve = st.columns([2, 3, 3], gap="medium")
    with beside:
        scale = controls.slider("Scale s of the embeddings", "scale", 0.5, 20.0, ROOT, 0.1, format="%.1f")
        position = controls.slider("Position p that is added", "position", 0, 255, 50)
        found = scale_effect(MODEL, position, (scale, *SCALES))
        lengths, shown = tables.scaled_lengths(found, 0), experiments.scaled_embeddings(found)
        st.metric("Mean length of s · E", lengths.scaled_text)
        st.metric("Length of PE(p)", lengths.position_text, help=f"√({d}/2) at every position")
        st.metric("Rows still nearest to themselves", tables.recognised(found, 0).scaled_text)
    with picture:
        figure(
            figures.lengths_figure(found, scale, 330), key="lengths", height=330, alt=str(lengths), caption=str(lengths)
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
        f"An experiment on the trained table of {MODEL}, which itself adds no position embeddings: unscaled, its rows "
        f"are shorter than a sinusoidal vector ({lengths.mean_text} against {lengths.position_text})."
    )
    measured = made(tables.scale_effect, MODEL, position, (scale, *SCALES))
    latest.offer(experiments.scaled_embeddings, measured, what="The scale")
