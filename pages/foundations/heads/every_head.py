"""The page on heads: the map of all heads, one of them in full, one token in some of them."""

from typing import Any

import streamlit as st

from pages.foundations.heads.choices import first_view, size
from pages.ui import controls, fragments, head_links, in_your_text, keys, links, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel
from tfcore.measures.heads.kinds import Place
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads.draw.maps import MAP_CELLS, Form
from tfcore.views.foundations.heads.measure.attention import (
    Order,
    attention,
    can_roll_out,
    heads_in,
    kinds,
    kinds_rest_on,
    layers_shown,
    tile_places,
)
from tfcore.views.foundations.heads.measure.attention_maps import map_range, strongest_key
from tfcore.views.foundations.heads.measure.head_ranking import DISTANCE, ENTROPY, KIND, PAIR, strongest_pair
from tfcore.views.foundations.heads.measure.head_table import score_columns
from tfcore.views.foundations.heads.say import other_layers
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View

ALL = -1  # of the ranges of tokens: the whole text
MANY_TOKENS = 120  # from which on the row of tokens scrolls
OF = {"head": "head", "mean": "layer mean", "rollout": "rollout"}
SORTS = {"place": "by layer", "kind": "by kind", "score": "by score"}
RANKS = {
    KIND: "kind of head",
    PAIR: "weight from a token to a token",
    "previous token": "weight on the previous token",
    "next token": "weight on the next token",
    "first token": "weight on the first token",
    "last token": "weight on the last token",
    "same place": "weight on the same place",
    "self": "weight on the token itself",
    "duplicate": "weight on the same token earlier",
    "induction": "weight on what followed it earlier (induction)",
    "local": "weight on neighbours",
    "broad": "share of the largest entropy",
    ENTROPY: "entropy",
    DISTANCE: "distance",
}


def every_head(p: Panel, reading: Reading, log: bool, more: Any) -> None:
    """Show all heads of the chosen part of the model.

    Args:
        log: colours by the logarithm of the weight.
        more: the container of More settings.
    """
    in_your_text.reserve()
    overview, beside = st.columns([25, 17], gap="medium")
    below = st.container()
    with overview:
        left, right = st.columns([8, 17], gap="medium")
    with more:
        by = choose_rank(reading)
    with right:
        place = choose_head(reading)
        if (others := other_layers(opened(reading.model)[0].config)) is not None:
            st.caption(text.escape(str(others)))
    with more:
        order = choose_tiles(reading, *by)
    if place[0] not in size(reading)[0]:
        with right:
            links.to("foundations/linear/page.py", {}, "How such a matrix comes about")
        of_a_state(p, reading, place, left if size(reading)[0] else None, beside, order)
        return
    with left:
        every = views.head_map(reading, order, *place)
        p.show(every, _choose_cell, "Click a cell to look at its head.")
    with right:
        if tile_places(reading, order, place[0]):
            p.show(views.mosaic(reading, order, *place, log), _choose_tile)
        else:
            st.info("No head of these layers is of this kind; order the tiles by score, or choose another kind.")
    closer(p, reading, order, place, log, (p.picture, beside, below, more))
    st.subheader("Every head, measured", anchor=False)
    on = kinds_rest_on(reading)
    st.caption(f"Kind and score: on {on}, induction on repeated random tokens. All other columns: on this text.")
    st.dataframe(
        every.numbers(),
        hide_index=True,
        height=260,
        column_config={
            name: st.column_config.NumberColumn(format="%.2f") for name in score_columns(attention(reading).maps.heads)
        },
    )
    p.what_to_see(
        "A stripe just below the diagonal is a *previous-token head*. A strong first column is an *attention sink*: "
        "much weight on the first token, whatever it is. A short slanted stripe far from the diagonal stands where a "
        "text repeats itself: an *induction head* attends to the token after the earlier occurrence, a "
        "*duplicate-token head* to the occurrence itself. *Rollout* multiplies the layers, half of each being the "
        "residual connection: an estimate of how much of each token reaches this position."
    )
    p.question(
        "After “A little dog ran. The little”, which token does an induction head attend to from the second “little”?",
        "“dog”: the token that followed the first “little”. What the head copies from there raises the logit of “dog”.",
    )


def of_a_state(p: Panel, reading: Reading, place: Place, left: Any, beside: Any, order: Order) -> None:
    """Show the matrix that the state of a layer implies, in the place of attention.

    Args:
        left: where the map of the heads of attention stands; None of a model that has none.
        beside: where the matrix stands.
    """
    if left is not None:
        with left:
            p.show(views.head_map(reading, order, *place), _choose_cell, "Click a cell to look at its head.")
    with beside:
        shown = views.implied(reading, *place)
        st.subheader(shown.title, anchor=False)
        p.show(shown)
    p.what_to_see(
        "A state is what a layer carries from token to token instead of keys and values. What it gives a token is a "
        "sum over all tokens before, as attention gives it, and the factors of that sum are this matrix. They need not "
        "sum to 1, and may be negative: they are no probabilities, so there is no entropy, no kind and no attention "
        "sink to name. A row that fades to the left forgets; a token that erases makes the columns before it pale."
    )
    p.question(
        "Why can a row of this matrix sum to more than 1, or to less than 0?",
        "Nothing divides it by its sum: that is what softmax does. The layer normalises what comes out instead.",
    )


# ---- which heads ----


def choose_rank(reading: Reading) -> tuple[str, int, int]:
    """The measure that heads are ranked by; of a pair the query token and the key token."""
    read = attention(reading)
    usual = (KIND, PAIR, ENTROPY, DISTANCE)
    ranks = {by: label for by, label in RANKS.items() if by in usual or by in read.maps.heads.scores}
    by = controls.select("Colour and rank heads by", "rank", list(ranks), KIND, ranks)
    if by != PAIR:
        return by, 0, 0
    n_query, n_key = read.maps.patterns.shape[2:]
    first = strongest_pair(read.maps.patterns, read.sink)
    one, other = st.columns(2)
    with one:
        query = controls.place("From token", "from", n_query, first.query)
    with other:
        key = controls.place("To token", "to", n_key, first.key)
    return by, query, key


def choose_head(reading: Reading) -> Place:
    """Layer and head."""
    config = opened(reading.model)[0].config
    first_layer, first_head, _ = first_view(reading)
    one, other = st.columns(2)
    with one:
        layer = controls.layer_among(layers_shown(reading), first_layer)
    with other:
        head = controls.place("Head", "head", heads_in(config, layer) or size(reading)[1], first_head)
    return layer, head


def choose_tiles(reading: Reading, by: str, query: int, key: int) -> Order:
    """Which heads have a tile, and in which order."""
    sort = controls.select("Tiles", "sort", list(SORTS), "place", SORTS)
    known = kinds(reading)
    kind = controls.select("Heads of kind", "kind", ["all", *sorted(set(known.kind[known.attends]))], "all")
    return Order(by, query, key, sort, kind)


def _choose_cell(event: Event) -> None:
    """A click on a cell of the map."""
    match event:
        case {"x": int(head), "y": int(layer)}:
            controls.set_values(layer=layer, head=head)


def _choose_tile(event: Event) -> None:
    """A click on a tile."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=head)


# ---- one of them, one token ----


@fragments.fragment
def closer(
    p: Panel, reading: Reading, order: Order, place: Place, log: bool, places: tuple[Any, Any, Any, Any]
) -> None:
    """One head as arcs and in full, one token in some heads: a change of the token redraws only these.

    Args:
        place: layer and head.
        places: above, beside and below the overview of all heads, and More settings.
    """
    above, beside, below, more = places
    read, (layer, head) = attention(reading), place
    n_query, n_key = read.maps.patterns.shape[2:]
    with beside:
        token = controls.place("Query token", "token", n_query, first_view(reading)[2], of=tuple(read.queries))
        if read.within:
            with above:
                show_portrait(p, reading, place, token)
        options = {of: label for of, label in OF.items() if of != "rollout" or can_roll_out(reading)}
        with more:
            of = controls.segmented("Show", "of", list(options), "head", options)
            form: Form = controls.segmented("As", "view", ["map", "lines"], "map")
            window = choose_range(max(n_query, n_key))
        if of == "head":
            shown = views.head(reading, layer, head, token, form, window, log)
        elif of == "mean":
            shown = views.layer_mean(reading, layer, token, form, window, log)
        else:
            shown = views.rolled_out(reading, layer, token, form, window, log)
        st.subheader(shown.title, anchor=False)
        p.show(shown, _row_chooser(shown, window) if form == "map" else None)
        if of == "head":
            ask_why(reading, place, token, shown)
            if read.within:
                head_links.sheets(str(reading.model), [place])
    with below:
        one = views.one_token(reading, order, layer, head, token, log)
        st.subheader(one.title, anchor=False)
        with st.container(height=220 if n_query > MANY_TOKENS else "content", border=False):
            text.chips(
                read.queries,
                key="chips",
                selected=token,
                shade=shown.result[token].tolist() if read.within else [0.0] * n_query,
                label="Choose the query token",
                on_select=lambda i: controls.set_values(token=i),
            )
        p.show(one)


def show_portrait(p: Panel, reading: Reading, place: Place, token: int) -> None:
    """A head over the words; a click on a word chooses it."""

    def choose(event: Event) -> None:
        if isinstance(event["customdata"], int):
            controls.set_values(token=event["customdata"])

    p.show(views.portrait(reading, *place, token), choose, "Click a word to follow it.")


def choose_range(n: int) -> tuple[int, int] | None:
    """Which of `n` tokens are drawn one by one; None for all of them."""
    if n <= MAP_CELLS:
        return None
    ranges = {start: f"{start} to {min(n, start + MAP_CELLS) - 1}" for start in range(0, n, MAP_CELLS)}
    start = controls.select("Tokens", "range", [ALL, *ranges], ALL, {ALL: "all", **ranges})
    return None if start == ALL else (start, min(n, start + MAP_CELLS))


def _row_chooser(shown: View, window: tuple[int, int] | None) -> Any:
    """A click on a row of cells chooses its query token."""
    drawn = map_range(shown.result, window, MAP_CELLS)

    def choose(event: Event) -> None:
        if isinstance(event["y"], int | float):
            controls.set_values(token=drawn.token(int(event["y"])))
            if isinstance(event.get("x"), int | float):
                controls.set_values(key=drawn.token(int(event["x"])))

    return choose


def ask_why(reading: Reading, place: Place, token: int, shown: View) -> None:
    """A button that leads to the section on one score: that of the cell that was clicked, or of the strongest key."""
    read, pattern, key = attention(reading), shown.result, controls.last("key")
    if not isinstance(key, int) or not 0 <= key < pattern.shape[1] or not pattern[token, key] > 0:
        key = strongest_key(pattern, token, read.queries, read.keys).key
    query, looked = text.escape(text.visible(read.queries[token])), text.escape(text.visible(read.keys[key]))
    st.button(
        f"Why does “{query}” look at “{looked}”?",
        key=keys.own("button", "ask why"),
        on_click=controls.set_values,
        kwargs={"show": "why", "layer": place[0], "head": place[1], "token": token, "key": key},
        help="The score of this cell, taken apart by what wrote at both tokens. Click another cell to ask about that.",
    )
