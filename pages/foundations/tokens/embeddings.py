"""The panel on the embedding table: lengths, neighbours, a map, and why some models scale it."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.tokens import experiments as experiments
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from tfcore.analysis.foundations import embedding_table as tables
from tfcore.analysis.foundations.embedding_table import Neighbours, ScaleEffect, TableMap
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


@cache.data(max_entries=2)
def table_map() -> TableMap:
    return tables.table_map(cache.model(MODEL)[0])


@cache.data(max_entries=256)
def nearest(token: int) -> Neighbours:
    return tables.nearest(cache.model(MODEL)[0], token, NEAR)


@cache.data(max_entries=64)
def effect(position: int, scale: float) -> ScaleEffect:
    return tables.scale_effect(cache.model(MODEL)[0], position, (scale, *SCALES))


@cache.data(max_entries=2)
def vocabulary() -> tuple[list[str], list[str], list[int]]:
    """Every token as text, as a label, and its kind."""
    tokenizer = cache.model(MODEL)[1]
    pieces = [tokenizer.token_bytes(i) for i in range(tokenizer.vocab_size)]
    return tokenizer.tokens(range(len(pieces))), [text.label(piece) for piece in pieces], tables.kinds(pieces)


def choose(event: dict[str, Any]) -> None:
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
    st.latex(r"x_i = E[t_i],\; E \in \mathbb{R}^{|V| \times d} \qquad \cos(a, b) = \frac{a \cdot b}{|a|\,|b|}")
    page.try_this(TRY)
    low, high = tables.published_vocabularies()
    models.only(MODEL, f"its 2,048 rows fit into one picture; published ones have {low:,} to {high:,}.")
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
            chips = " ".join(text.escape(text.visible(t)) for t in cache.model(MODEL)[1].tokens(ids))
            st.caption(f"That is {len(ids)} tokens ({chips}); the first one is shown.")
        _neighbours(ids[0])
    with right:
        _map(ids[0])
    _lengths(ids[0])
    _scale()
    page.what_to_see(
        "The nearest neighbours of “ dog” and “ red” are “ cat” and “ blue”: tokens used alike have similar rows. The "
        "map keeps only the two directions in which rows differ most; the caption says what share of the variance "
        "those hold. Near in the map need not be near in the table, so rely on the cosines."
    )
    page.source(tables.principal_components, tables.cosine_with, tables.scale_effect, sinusoidal)
    page.experiment(experiments.neighbours, MODEL, piece, NEAR)
    st.caption("Scaling by √d: Attention Is All You Need, section 3.4, arXiv:1706.03762")
    page.question(
        "The model shown here does not scale its embeddings and works. Why?",
        "It adds no position embeddings: RoPE rotates queries and keys instead, and the first norm brings every vector "
        "to the same length anyway. The scale matters where position embeddings are added, as in the Transformer of "
        "2017.",
    )


def _neighbours(token: int) -> None:
    near, (_, labels, _) = nearest(token), vocabulary()
    pieces = vocabulary()[0]
    first = f"'{text.visible(pieces[near.ids[0]])}' with cosine {near.cosines[0]:.2f}"
    figure(
        figures.neighbours_figure(near, [labels[i] for i in near.ids], 340),
        key="neighbours",
        height=340,
        on_click=choose,
        alt=f"Nearest to '{text.visible(pieces[token])}': {first}, then "
        + ", ".join(f"'{text.visible(pieces[i])}'" for i in near.ids[1:5])
        + ".",
        caption=f"The {NEAR} rows nearest to '{text.visible(pieces[token])}' (id {token}): first {first}. Click one to "
        "go there.",
        table=lambda: pd.DataFrame({"id": near.ids, "token": [pieces[i] for i in near.ids], "cosine": near.cosines}),
    )


def _map(token: int) -> None:
    found, (pieces, labels, kinds) = table_map(), vocabulary()
    vocab, d = len(pieces), len(found.explained)
    share = float(found.explained[:2].sum())
    figure(
        figures.map_figure(found, kinds, tables.KINDS, labels, nearest(token), 460),
        key="map",
        height=460,
        on_click=choose,
        alt=f"{vocab:,} tokens on the first two principal components, which hold {share:.1%} of the variance, with "
        f"'{text.visible(pieces[token])}' and its nearest neighbours marked.",
        caption=f"PCA of the table, shape ({vocab:,}, {d}), to 2 dimensions: {share:.1%} of the variance. Ringed: the "
        f"{NEAR} nearest of '{text.visible(pieces[token])}' by cosine in all {d}. Click a token to go there.",
        table=lambda: pd.DataFrame(
            {"token": pieces, "x": found.points[:, 0], "y": found.points[:, 1], "length": found.norms}
        ),
    )


def _lengths(token: int) -> None:
    found, (pieces, _, kinds) = table_map(), vocabulary()
    mean = float(found.norms.mean())
    low, high = (int(pick()) for pick in (found.norms.argmin, found.norms.argmax))
    figure(
        figures.norms_figure(found, kinds, tables.KINDS, token, 260),
        key="norms",
        height=260,
        on_click=choose,
        alt=f"Length of each row by id: {mean:.2f} on average, from {found.norms[low]:.2f} to {found.norms[high]:.2f}; "
        f"'{text.visible(pieces[token])}' has {found.norms[token]:.2f}.",
        caption=f"Length of each row: {mean:.2f} on average. Shortest '{text.visible(pieces[low])}' "
        f"({found.norms[low]:.2f}), longest '{text.visible(pieces[high])}' ({found.norms[high]:.2f}); "
        f"'{text.visible(pieces[token])}' has {found.norms[token]:.2f}. Low ids are single bytes, then merges in the "
        "order in which they were learned: the frequent ones first.",
        table=lambda: pd.DataFrame({"token": pieces, "length": found.norms}),
    )


@fragments.fragment
def _scale() -> None:
    """The square root of d, against position vectors that are added."""
    d = len(table_map().explained)
    st.subheader("Why some models multiply by √d", anchor=False)
    st.latex(r"x_p = s\,E[t_p] + PE(p), \qquad s = \sqrt{d}, \qquad |PE(p)| = \sqrt{d/2}")
    page.try_this({"no scale": {"scale": 1.0}, "twice as long": {"scale": 2.0}, "√d": {"scale": ROOT}})
    beside, picture, curve = st.columns([2, 3, 3], gap="medium")
    with beside:
        scale = controls.slider("Scale s of the embeddings", "scale", 0.5, 20.0, ROOT, 0.1, format="%.1f")
        position = controls.slider("Position p that is added", "position", 0, 255, 50)
        found = effect(position, scale)
        mean = float(found.norms.mean())
        st.metric("Mean length of s · E", f"{scale * mean:.2f}")
        st.metric("Length of PE(p)", f"{found.position_norm:.2f}", help=f"√({d}/2) at every position")
        st.metric("Rows still nearest to themselves", f"{found.recognised[0]:.0%}")
    with picture:
        figure(
            figures.lengths_figure(found, scale, 330),
            key="lengths",
            height=330,
            alt=f"Rows have length {mean:.2f} on average, times {scale:.1f} {scale * mean:.2f}; every position vector "
            f"has {found.position_norm:.2f}.",
            caption=f"Lengths: E {mean:.2f} on average, {scale:.1f} · E {scale * mean:.2f}, "
            f"PE {found.position_norm:.2f}.",
        )
    one = float(found.recognised[list(found.scales).index(1.0)])
    with curve:
        figure(
            figures.recognised_figure(found, 0, d, 330),
            key="recognised",
            height=330,
            alt=f"Share of tokens still recognised after PE({position}) is added, by scale: {one:.0%} at 1, "
            f"{found.recognised[0]:.0%} at {scale:.1f}.",
            caption=f"Of every fourth token, the share whose own row is still nearest to s · E + PE({position}): "
            f"{one:.0%} at s = 1, {found.recognised[0]:.0%} at s = {scale:.1f}, where {found.share[0]:.0%} of the "
            "squared length is the token.",
            table=lambda: pd.DataFrame({"scale": found.scales, "recognised": found.recognised, "share": found.share}),
        )
    st.caption(
        f"An experiment on the trained table of {MODEL}, which itself adds no position embeddings: unscaled, its rows "
        f"are shorter than a sinusoidal vector ({mean:.2f} against {found.position_norm:.2f})."
    )
    page.experiment(experiments.scaled_embeddings, MODEL, position, (scale, *SCALES))
