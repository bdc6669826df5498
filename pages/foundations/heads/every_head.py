"""The page on heads: every head as a mosaic, one of them in full, one token in all of them."""

from typing import Any

import streamlit as st
from numpy import ndarray

from pages.foundations.heads import experiments
from pages.foundations.heads.reading import Choice
from pages.ui import controls, fragments, page, text
from pages.ui.components.figure import Event, figure
from tfcore.analysis.foundations.attention_maps import (
    AttentionReading,
    head_mean,
    map_range,
    map_table,
    pool,
    rollout,
    strongest_key,
    token_table,
)
from tfcore.analysis.foundations.heads import head_kind, head_kinds, head_table, order, score_columns, score_heads
from tfcore.attention import attention_scores, attention_weights
from tfcore.figures.foundations import heads as figures
from tfcore.figures.shown import Shown

# The first view: “red” attends to the ball, by induction.
LAYER = 3
HEAD = 0
TOKEN = 25
MANY_HEADS = 48  # more than that have small tiles
TILE = 48  # cells along a side of a tile
LONG_TILE = 36  # the same for texts of more tokens than TILE
SMALL_TILE = 24  # the same where there are many heads
ALL = -1  # of the ranges of tokens: the whole text
SORTS = {"place": "by layer", "kind": "by kind", "score": "by score"}
OF = {"head": "head", "mean": "layer mean", "rollout": "rollout"}


def every_head(choice: Choice) -> None:
    """The section with all heads of the chosen part of the model."""
    scores = choice.reading.found.heads
    overview, beside = st.columns([11, 10], gap="medium")
    with overview:
        layer, head = mosaic(choice)
    below = st.container()
    closer(choice, layer, head, beside, below)
    st.subheader("Every head, measured", anchor=False)
    st.dataframe(
        head_table(scores),
        hide_index=True,
        height=260,
        column_config={c: st.column_config.NumberColumn(format="%.2f") for c in score_columns(scores)},
    )
    words()


def mosaic(choice: Choice) -> tuple[int, int]:
    """All heads, sorted and filtered; returns the one that is looked at."""
    found = choice.reading.found
    n_layers, n_heads = found.heads.kind.shape
    left, right = st.columns([3, 2])
    with left:
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, min(LAYER, n_layers - 1))
        sort = controls.segmented("Order of the heads", "sort", list(SORTS), "place", SORTS)
    with right:
        head = controls.slider("Head", "head", 0, n_heads - 1, HEAD)
        kinds = ["all", *sorted(set(found.heads.kind.ravel()))]
        kind = controls.select("Show heads of kind", "kind", kinds, "all")
    shown = [place for place in order(found.heads, sort) if kind in ("all", found.heads.kind[place])]
    tokens = max(found.patterns.shape[2:])
    side = SMALL_TILE if n_layers * n_heads > MANY_HEADS else TILE if tokens <= TILE else LONG_TILE
    pooled = " A cell shows the largest of the weights it stands for." if tokens > side else ""
    tiles = {place: head_kind(found.heads, *place).name.replace(" token", "") for place in shown}
    figure(
        figures.mosaic(pool(found.patterns, side), tiles, shown, (layer, head), height=620),
        key="mosaic",
        alt=str(head_kinds(found.heads, shown)),
        height=620,
        min_width=400,
        caption=f"Every head as layer.head with the kind that fits it best on this text (induction: on repeated random "
        "tokens). Rows are query tokens, columns key tokens, full colour is weight 1; click one to enlarge "
        f"it.{pooled}",
        table=lambda: head_table(found.heads),
        on_click=_choose_head,
    )
    return layer, head


def _choose_head(event: Event) -> None:
    """A click on a tile of the mosaic."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=head)


@fragments.fragment
def closer(choice: Choice, layer: int, head: int, beside: Any, below: Any) -> None:
    """One head in full and one token in every head: a change of the token redraws only these."""
    reading, patterns = choice.reading, choice.reading.found.patterns
    n_query, n_key = patterns.shape[2:]
    with beside:
        token = controls.slider("Query token", "token", 0, n_query - 1, min(TOKEN, n_query - 1))
        options = {of: label for of, label in OF.items() if of != "rollout" or reading.within}
        with st.container(horizontal=True, vertical_alignment="bottom"):
            of = controls.segmented("Show", "of", list(options), "head", options)
            view: figures.View = controls.segmented("As", "view", ["map", "lines"], "map")
            window = _choose_range(max(n_query, n_key), token if view == "lines" else None)
        title = {
            "head": str(head_kind(reading.found.heads, layer, head)).removesuffix("."),
            "mean": f"Layer {layer}: mean of {patterns.shape[1]} heads",
            "rollout": f"Layers 0 to {layer}, multiplied: rollout",
        }[of]
        st.subheader(title, anchor=False)
        if of == "head":
            pattern = patterns[layer, head]
            shown = experiments.head(reading, layer, head, token, view, window)
        elif of == "mean":
            pattern = head_mean(patterns)[layer]
            shown = experiments.layer_mean(reading, layer, token, view, window)
        else:
            pattern = rollout(patterns)[layer]
            shown = experiments.rolled_out(reading, layer, token, view, window)
        one_map(reading, pattern, title, shown, view, window)
    with below:
        one_token(reading, layer, head, token, pattern)
        if of == "head":
            page.experiment(experiments.head, choice.made, layer, head, token, view, window)
        else:
            experiment = experiments.layer_mean if of == "mean" else experiments.rolled_out
            page.experiment(experiment, choice.made, layer, token, view, window)


def _choose_range(n: int, around: int | None) -> tuple[int, int] | None:
    """Which tokens of a long text are drawn one by one; None for all of them, pooled where they are too many.

    Args:
        n: tokens.
        around: a token that has to be among them, where not all can be drawn.
    """
    cells = figures.MAP_CELLS
    if n <= cells:
        return 0, n
    ranges = {start: f"{start} to {min(n, start + cells) - 1}" for start in range(0, n, cells)}
    chosen = controls.select("Tokens", "range", [ALL, *ranges], ALL, {ALL: "all", **ranges})
    if chosen == ALL and around is None:
        return None
    start = around // cells * cells if chosen == ALL and around is not None else chosen
    return start, min(n, start + cells)


def one_map(
    reading: AttentionReading,
    pattern: ndarray,
    title: str,
    shown: Shown,
    view: figures.View,
    window: tuple[int, int] | None,
) -> None:
    """The chosen map; a click on a row of cells chooses its query token."""
    drawn = map_range(pattern, window, figures.MAP_CELLS)

    def choose_row(event: Event) -> None:
        if isinstance(event["y"], int | float):
            controls.set_values(token=drawn.token(int(event["y"])))

    note = "" if view == "map" else f" Shape (query, key) = {pattern.shape}; the stronger the line, the more weight."
    figure(
        shown.figure,
        key="closer",
        alt=f"{title}; {shown.alt}",
        height=580,
        min_width=360,
        caption=shown.caption + note,
        table=lambda: map_table(pattern, reading.queries, reading.keys),
        cursor=view == "map",
        on_click=choose_row if view == "map" else None,
    )


def one_token(reading: AttentionReading, layer: int, head: int, token: int, pattern: ndarray) -> None:
    """One query token in every head, and the tokens to choose it from, shaded by the map that is shown."""
    patterns = reading.found.patterns
    st.subheader("One query token, in every head", anchor=False)
    text.chips(
        reading.queries,
        key="chips",
        selected=token,
        shade=pattern[token].tolist() if reading.within else [0.0] * len(reading.queries),
        label="Choose the query token",
        on_select=lambda i: controls.set_values(token=i),
    )
    most = strongest_key(patterns[layer, head], token, reading.queries, reading.keys)
    query = text.visible(reading.queries[token])
    figure(
        figures.one_token(
            patterns[:, :, token],
            text.tick_labels(reading.keys),
            token if reading.within else None,
            (layer, head),
            height=520,
        ),
        key="one token",
        alt=f"Attention of '{query}' in every head. In layer {layer}, head {head}: {most}",
        height=520,
        min_width=640,
        caption=f"One row per head: the attention weights of '{query}' over the key tokens.",
        table=lambda: token_table(reading.found, token, reading.keys),
    )


def words() -> None:
    """What to see, the equation, the code, a question."""
    page.what_to_see(
        "A stripe just below the diagonal is a *previous-token head*. A strong first column is an *attention sink*: "
        "much weight on the first token, whatever it is. Short slanted stripes far from the diagonal are *induction*: "
        "at a token seen before, the head attends to the token that followed it there. *Rollout* multiplies the "
        "layers, half of each being the residual connection: how much of each token could reach this position."
    )
    st.latex(r"A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right)")
    st.caption("Vaswani et al. 2017, arXiv:1706.03762, equation 1. Rollout: arXiv:2005.00928, section 3.")
    page.terms("attention head", "attention sink", "induction head")
    page.source(attention_scores, attention_weights, score_heads, rollout)
    page.question(
        "In the text about Max, which token does an induction head attend to from the second 'little'?",
        "'dog': the token that followed the first 'little'. What the head copies from there raises the logit of 'dog'.",
    )
