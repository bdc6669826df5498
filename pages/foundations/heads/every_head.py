"""The page on heads: the map of all heads, one of them in full, one token in some of them."""

from typing import Any

import streamlit as st
from numpy import ndarray

from pages.foundations.heads import experiments
from pages.foundations.heads.find import Found, find_heads
from pages.foundations.heads.reading import Choice, first_view
from pages.ui import controls, fragments, keys, page, text
from pages.ui.components.figure import Event, figure
from tfcore.analysis.foundations.attention_maps import (
    AttentionReading,
    map_range,
    map_table,
    pool_keys,
    rollout,
    some_heads,
    strongest_key,
    token_table,
)
from tfcore.analysis.foundations.attention_sink import without_keys
from tfcore.analysis.foundations.head_ranking import rank_heads, standard_kinds
from tfcore.analysis.foundations.heads import head_kind, head_table, score_columns
from tfcore.attention import attention_scores, attention_weights
from tfcore.figures.foundations import heads as figures
from tfcore.figures.foundations.head_portrait import HEIGHT, TOKENS, first_drawn, portrait_place, portrait_width
from tfcore.figures.shown import Shown
from tfcore.measures.heads.kinds import score_heads

ALL = -1  # of the ranges of tokens: the whole text
KEYS = 256  # columns of one token's row; more tokens share them
MANY_TOKENS = 120  # from which on the row of tokens scrolls
OF = {"head": "head", "mean": "layer mean", "rollout": "rollout"}


def every_head(choice: Choice) -> None:
    """The section with all heads of the chosen part of the model."""
    scores = choice.reading.found.heads
    picture = st.container()
    overview, beside = st.columns([25, 17], gap="medium")
    with overview:
        found = find_heads(choice)
    below = st.container()
    latest = page.Latest()
    closer(choice, found, (picture, beside, below), latest)
    st.subheader("Every head, measured", anchor=False)
    st.caption(
        f"Kind and score: on {choice.kinds_on}, induction on repeated random tokens. All other columns: on this text."
    )
    st.dataframe(
        head_table(scores, choice.kinds),
        hide_index=True,
        height=260,
        column_config={c: st.column_config.NumberColumn(format="%.2f") for c in score_columns(scores)},
    )
    words(latest)


@fragments.fragment
def closer(choice: Choice, heads: Found, places: tuple[Any, Any, Any], latest: page.Latest) -> None:
    """One head as arcs and in full, one token in some heads: a change of the token redraws only these.

    Args:
        places: above, beside and below the overview of all heads.
    """
    above, beside, below = places
    reading, patterns, (layer, head) = choice.reading, choice.reading.found.patterns, heads.selected
    n_query, n_key = patterns.shape[2:]
    with beside:
        token = controls.place("Query token", "token", n_query, first_view(choice)[2])
        if reading.within:
            one_line(reading, layer, head, token, above)
        options = {of: label for of, label in OF.items() if of != "rollout" or reading.within}
        with choice.more:
            of = controls.segmented("Show", "of", list(options), "head", options)
            view: figures.View = controls.segmented("As", "view", ["map", "lines"], "map")
            window = _choose_range(max(n_query, n_key), token if view == "lines" else None)
        title = {
            "head": str(head_kind(choice.kinds, layer, head, choice.kinds_on)).removesuffix("."),
            "mean": f"Layer {layer}: mean of {patterns.shape[1]} heads",
            "rollout": f"Layers 0 to {layer}, multiplied: rollout",
        }[of]
        st.subheader(title, anchor=False)
        if of == "head":
            pattern = patterns[layer, head]
            shown = experiments.head(reading, layer, head, token, view, window, choice.log)
        elif of == "mean":
            pattern = patterns[layer].mean(0)
            shown = experiments.layer_mean(reading, layer, token, view, window, choice.log)
        else:
            *_, pattern = rollout(patterns[: layer + 1])
            shown = experiments.rolled_out(reading, layer, token, view, window, choice.log)
        one_map(reading, pattern, title, shown, view, window)
        if of == "head":
            ask_why(reading, layer, head, token)
    with below:
        one_token(choice, heads, token, pattern)
    if of == "head":
        latest.offer(experiments.head, choice.made, layer, head, token, view, window, choice.log)
    else:
        experiment = experiments.layer_mean if of == "mean" else experiments.rolled_out
        latest.offer(experiment, choice.made, layer, token, view, window, choice.log)


def one_line(reading: AttentionReading, layer: int, head: int, token: int, place: Any) -> None:
    """The portrait of a head; a click on a word chooses it."""
    shown = experiments.portrait(reading, layer, head, token)
    first = first_drawn(len(reading.queries), token)

    def choose(event: Event) -> None:
        if isinstance(event["customdata"], int):
            controls.set_values(token=first + event["customdata"])

    labels = text.tick_labels(reading.queries)[first : first + TOKENS]
    with place:
        figure(
            shown.figure,
            key="portrait",
            alt=shown.alt,
            height=HEIGHT,
            min_width=portrait_width(labels),
            at=portrait_place(labels, token - first),
            caption=f"Head {layer}.{head}. {shown.alt} Click a word to follow it. Pale: the strongest look of every "
            "other token.",
            table=lambda: map_table(reading.found.patterns[layer, head], reading.queries, reading.keys),
            on_click=choose,
        )


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
            if isinstance(event.get("x"), int | float):
                controls.set_values(key=drawn.token(int(event["x"])))

    note = "" if view == "map" else f" Shape (query, key) = {pattern.shape}; the stronger the line, the more weight."
    figure(
        shown.figure,
        key="closer",
        alt=f"{title}; {shown.alt}",
        height=580,
        min_width=350,
        caption=shown.caption + note,
        table=lambda: map_table(pattern, reading.queries, reading.keys),
        cursor=view == "map",
        on_click=choose_row if view == "map" else None,
    )


def ask_why(reading: AttentionReading, layer: int, head: int, token: int) -> None:
    """A button that leads to the section on one score: that of the cell that was clicked, or of the strongest key."""
    pattern, key = reading.found.patterns[layer, head], controls.last("key")
    if not isinstance(key, int) or not 0 <= key < pattern.shape[1] or not pattern[token, key] > 0:
        key = strongest_key(pattern, token, reading.queries, reading.keys).key
    query, looked = text.escape(text.visible(reading.queries[token])), text.escape(text.visible(reading.keys[key]))
    st.button(
        f"Why does “{query}” look at “{looked}”?",
        key=keys.own("button", "ask why"),
        on_click=controls.set_values,
        kwargs={"show": "why", "layer": layer, "head": head, "token": token, "key": key},
        help="The score of this cell, taken apart by what wrote at both tokens. Click another cell to ask about that.",
    )


def one_token(choice: Choice, heads: Found, token: int, pattern: ndarray) -> None:
    """One query token in the heads that have a tile, and the tokens to choose it from, shaded by the map shown."""
    reading, patterns = choice.reading, choice.reading.found.patterns
    layer, head = heads.selected
    places = heads.places if heads.selected in heads.places else [heads.selected, *heads.places]
    all_heads = len(places) == choice.kinds.kind.size
    st.subheader(f"One query token, in {'every head' if all_heads else f'{len(places)} heads'}", anchor=False)
    with st.container(height=220 if len(reading.queries) > MANY_TOKENS else "content", border=False):
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
    height = figures.one_token_height(len(places))
    which = "every head" if all_heads else "the heads that are shown above"
    weights, step = pool_keys(some_heads(patterns[:, :, [token]], places).squeeze(1), KEYS)
    pooled = f" A cell shows the largest weight of {step} tokens, of which the first is named." if step > 1 else ""
    figure(
        figures.one_token(
            weights,
            places,
            text.tick_labels(reading.keys)[::step],
            token // step if reading.within else None,
            heads.selected,
            height=height,
            log=choice.log,
        ),
        key="one token",
        alt=f"Attention of '{query}' in {len(places)} heads. In layer {layer}, head {head}: {most}",
        height=height,
        min_width=640,
        caption=f"One row for {which}: the attention weights of '{query}' over the key tokens.{pooled}",
        table=lambda: token_table(reading.found, token, reading.keys, places),
    )


def words(latest: page.Latest) -> None:
    """What to see, the equation, the code, a question."""
    page.what_to_see(
        "A stripe just below the diagonal is a *previous-token head*. A strong first column is an *attention sink*: "
        "much weight on the first token, whatever it is. A short slanted stripe far from the diagonal stands where a "
        "text repeats itself: an *induction head* attends to the token after the earlier occurrence, a "
        "*duplicate-token head* to the occurrence itself. *Rollout* multiplies the layers, half of each being the "
        "residual connection: an estimate of how much of each token reaches this position."
    )
    page.question(
        "After “A little dog ran. The little”, which token does an induction head attend to from the second “little”?",
        "“dog”: the token that followed the first “little”. What the head copies from there raises the logit of “dog”.",
    )
    page.how_it_is_computed(
        latest,
        formula=r"A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right)",
        code=(attention_scores, attention_weights, score_heads, standard_kinds, rank_heads, without_keys, rollout),
        papers="Vaswani et al. 2017, arXiv:1706.03762, equation 1. Rollout: arXiv:2005.00928, section 3.",
        terms=("attention head", "attention sink", "induction head"),
    )
