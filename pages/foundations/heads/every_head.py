"""The page on heads: every head as a mosaic, one of them in full, one token in all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

import streamlit as st

from pages.foundations.heads import experiments as experiments
from pages.foundations.heads.maps import Reading
from pages.ui import controls, fragments, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from tfcore.analysis.foundations.attention_maps import head_mean, pool, rollout, strongest
from tfcore.analysis.foundations.head_tables import head_table, map_table, order, score_columns, token_table
from tfcore.analysis.foundations.heads import score_heads
from tfcore.attention import attention_scores, attention_weights
from tfcore.figures.foundations import heads as figures
from tfcore.figures.tokens import token_heatmap

LAYER, HEAD, TOKEN = 3, 0, 25  # the first view: “red” attends to the ball, by induction
MANY_HEADS, TILE, LONG_TILE, SMALL_TILE = 48, 48, 36, 24  # cells along a side of a tile, fewer where they are many
RANGE = 128  # tokens a side up to which a map is drawn cell by cell
ALL = -1
SORTS = {"place": "by layer", "kind": "by kind", "score": "by score"}
OF = {"head": "head", "mean": "layer mean", "rollout": "rollout"}


def every_head(reading: Reading) -> None:
    """The section with all heads of the chosen part of the model."""
    found = reading.found
    names = {place: f"{found.heads.kind[place]} {found.heads.score[place]:.2f}" for place in order(found, "place")}
    overview, beside = st.columns([11, 10], gap="medium")
    with overview:
        layer, head = mosaic(reading, names)
    below = st.container()
    closer(reading, layer, head, names[layer, head], beside, below)
    st.subheader("Every head, measured", anchor=False)
    st.dataframe(
        head_table(found),
        hide_index=True,
        height=260,
        column_config={c: st.column_config.NumberColumn(format="%.2f") for c in score_columns(found)},
    )
    words()


def mosaic(reading: Reading, names: dict[tuple[int, int], str]) -> tuple[int, int]:
    """All heads, sorted and filtered; returns the one that is looked at."""
    found = reading.found
    n_layers, n_heads = found.heads.kind.shape
    left, right = st.columns([3, 2])
    with left:
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, min(LAYER, n_layers - 1))
        sort = controls.segmented("Order of the heads", "sort", list(SORTS), "place", SORTS)
    with right:
        head = controls.slider("Head", "head", 0, n_heads - 1, HEAD)
        kinds = ["all", *sorted(set(found.heads.kind.ravel()))]
        kind = controls.select("Show heads of kind", "kind", kinds, "all")
    shown = [place for place in order(found, sort) if kind in ("all", found.heads.kind[place])]
    tokens = max(found.patterns.shape[2:])
    side = SMALL_TILE if n_layers * n_heads > MANY_HEADS else TILE if tokens <= TILE else LONG_TILE
    pooled = " A cell shows the largest of the weights it stands for." if tokens > side else ""
    tiles = {place: name.replace(" token", "") for place, name in names.items()}
    figure(
        figures.mosaic(pool(found.patterns, side), tiles, shown, (layer, head), height=620),
        key="mosaic",
        alt=f"Attention maps of {len(shown)} of {n_layers * n_heads} heads, each with what it does: "
        + ", ".join(f"{place[0]}.{place[1]} {names[place]}" for place in shown),
        height=620,
        min_width=400,
        caption=f"Every head as layer.head with the kind that fits it best on this text (induction: on repeated random "
        "tokens). Rows are query tokens, columns key tokens, full colour is weight 1; click one to enlarge "
        f"it.{pooled}",
        table=lambda: head_table(found),
        on_click=_choose_head,
    )
    return layer, head


def _choose_head(event: Event) -> None:
    """A click on a tile of the mosaic."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=head)


@fragments.fragment
def closer(reading: Reading, layer: int, head: int, name: str, beside: Any, below: Any) -> None:
    """One head in full and one token in every head: a change of the token redraws only these."""
    found, queries, keys = reading.found, text.tick_labels(reading.queries), text.tick_labels(reading.keys)
    n_query, n_key = found.patterns.shape[2:]
    with beside:
        token = controls.slider("Query token", "token", 0, n_query - 1, min(TOKEN, n_query - 1))
        options = {of: label for of, label in OF.items() if of != "rollout" or reading.within}
        with st.container(horizontal=True, vertical_alignment="bottom"):
            of = controls.segmented("Show", "of", list(options), "head", options)
            view = controls.segmented("As", "view", ["map", "lines"], "map")
            window = _choose_range(max(n_query, n_key), token if view == "lines" else None)
        title = {
            "head": f"Layer {layer}, head {head}: {name}",
            "mean": f"Layer {layer}: mean of {found.patterns.shape[1]} heads",
            "rollout": f"Layers 0 to {layer}, multiplied: rollout",
        }[of]
        st.subheader(title, anchor=False)
        maps = {"mean": head_mean, "rollout": rollout}
        pattern = maps[of](found.patterns)[layer] if of in maps else found.patterns[layer, head]
        most = strongest(pattern, token)
        finding = f"'{queries[token]}' attends most to '{keys[most.key]}' ({most.key}), with weight {most.weight:.2f}"
        shown = Shown(reading, pattern, queries, keys, title, unescape(finding))
        _map(shown, window) if view == "map" else _lines(shown, window or slice(0, RANGE), token)
    with below:
        st.subheader("One query token, in every head", anchor=False)
        shade = pattern[token].tolist() if reading.within else [0.0] * n_query
        text.chips(
            reading.queries,
            key="chips",
            selected=token,
            shade=shade,
            label="Choose the query token",
            on_select=lambda i: controls.set_values(token=i),
        )
        own = token if reading.within else None
        figure(
            figures.one_token(found.patterns[:, :, token], keys, own, (layer, head), height=520),
            key="one token",
            alt=f"Attention of '{unescape(queries[token])}' in every head; in layer {layer}, head {head}: "
            f"most to '{unescape(keys[strongest(found.patterns[layer, head], token).key])}'",
            height=520,
            min_width=640,
            caption=f"One row per head: the attention weights of '{unescape(queries[token])}' over the key tokens.",
            table=lambda: token_table(found, token, reading.keys),
        )
        _program(reading, of, layer, head, token)


def _program(reading: Reading, of: str, layer: int, head: int, token: int) -> None:
    """What is shown, to be run by oneself."""
    name, pasted = reading.model_name, reading.pasted
    if reading.part is not None and models.config(name).architecture == "encoder-decoder":
        page.experiment(experiments.translating_head, name, pasted, reading.part, layer, head)
    elif of == "head":
        page.experiment(experiments.head, name, pasted, layer, head, token)
    else:
        shown = experiments.rolled_out if of == "rollout" else experiments.layer_mean
        page.experiment(shown, name, pasted, layer, token)


def _choose_range(n: int, around: int | None) -> slice | None:
    """Which tokens of a long text are drawn one by one; None for all of them, pooled where they are too many."""
    if n <= RANGE:
        return slice(0, n)
    ranges = {start: f"{start} to {min(n, start + RANGE) - 1}" for start in range(0, n, RANGE)}
    chosen = controls.select("Tokens", "range", [ALL, *ranges], ALL, {ALL: "all", **ranges})
    if chosen == ALL and around is None:
        return None
    start = around // RANGE * RANGE if chosen == ALL and around is not None else chosen
    return slice(start, min(n, start + RANGE))


@dataclass(frozen=True, slots=True)
class Shown:
    """A map to draw, with labels that are safe to show, and what is to be said of it."""

    reading: Reading
    pattern: Any
    queries: Sequence[str]
    keys: Sequence[str]
    title: str
    finding: str

    def draw(self, drawing: Any, note: str, **options: Any) -> None:
        figure(
            drawing,
            key="closer",
            alt=f"{self.title}; {self.finding}",
            height=580,
            min_width=360,
            caption=f"{self.finding}. Shape (query, key) = {self.pattern.shape}; {note}.",
            table=lambda: map_table(self.pattern, self.reading.queries, self.reading.keys),
            **options,
        )


def _map(shown: Shown, window: slice | None) -> None:
    """The map cell by cell, a range of it, or pooled."""
    pattern, queries, keys = shown.pattern, shown.queries, shown.keys
    note, start, step = "each row sums to 1", 0, 1
    if window is None:
        step = -(-max(pattern.shape) // RANGE)
        pattern, queries, keys = pool(pattern, RANGE), queries[::step], keys[::step]
        note = f"pooled: a cell shows the largest weight of {step} by {step}; choose a range of tokens for all of them"
    elif window.stop - window.start < max(pattern.shape):
        start = window.start
        outside = 1 - float(pattern[window, window].sum() / max(1e-9, pattern[window].sum()))
        pattern, queries, keys = pattern[window, window], queries[window], keys[window]
        note = f"tokens {window.start} to {window.stop - 1}; {outside:.0%} of their weight lies outside"

    def choose_row(event: Event) -> None:
        if isinstance(event["y"], int | float):
            controls.set_values(token=min(start + int(event["y"]) * step, len(shown.queries) - 1))

    shown.draw(token_heatmap(pattern, queries, keys, height=580, bar=False), note, cursor=True, on_click=choose_row)


def _lines(shown: Shown, window: slice, token: int) -> None:
    """The same as lines between two columns of tokens."""
    chosen = token - window.start if window.start <= token < window.stop else None
    drawing = figures.lines(
        shown.pattern[window, window], shown.queries[window], shown.keys[window], chosen, height=580
    )
    shown.draw(drawing, "the stronger the line, the more weight")


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
