"""The river: streams of tokens through the layers of a model, ribbons between them, heads that can be changed, the next
tokens at its mouth.

River.js draws it and moves it from one state to the next; river_layout.js says where everything stands; dragging.py
follows a hand that changes a head.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.ui import embedding, keys, links
from pages.ui.components import assets, dragging
from pages.ui.components.player import target
from tfcore.charts.theme import HEAD_KINDS
from tfcore.measures.quantities import counted
from tfcore.views.inside.flow.measure.columns import Column
from tfcore.views.inside.flow.measure.routes import Flow, read_factors, written_factors
from tfcore.views.inside.flow.measure.shares import Factors

KEY = "river"  # of the picture, for a frame of another site
LONGEST = 2_000  # characters of all heads that are changed
LOUDER = {"broad": "@muted/0.75", "local": "@head6/0.75"}  # than where heads are cells of a map
_component = assets.component("tf_river", "river.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class River:
    """What is drawn.

    Args:
        tokens: of the text, as plain text.
        flow: of the state that is explained.
        columns: its layers, open or folded.
        effects, exact: by layer and head, by how much what is measured falls without it; whether that is no estimate.
        measure: what that is, in words.
        kinds: of the heads, by layer and head.
        guesses: after each layer the top prediction and its probability; None where there is none.
        following: the most probable next tokens with the probabilities with which they are drawn, the first first.
        drawing: how, in words; nothing where that is as the model says.
        word, against: the places in `following` of the token that is measured, and of the one it is compared with.
        whole: what widths are shares of, in words.
        traced: whether that is the logit of `word`, above that of `against`; the state otherwise.
        tracing: whether a click on a next token can make it so.
        story: what the picture shows, in a sentence.
        linked: whether a click on a ribbon is told of.
        choosing: whether a click on a token is told of.
    """

    tokens: Sequence[str]
    flow: Flow
    columns: Sequence[Column]
    effects: Sequence[Sequence[float]]
    exact: Sequence[bool]
    measure: str
    kinds: Sequence[Sequence[str]]
    guesses: Sequence[tuple[str, float] | None]
    following: Sequence[tuple[str, float]]
    drawing: str
    word: int | None
    story: str
    against: int | None = None
    whole: str = "the state"
    traced: bool = False
    tracing: bool = False
    linked: bool = True
    choosing: bool = False


def read(key: str, n_layers: int, n_heads: int) -> Factors:
    """The heads of control `key` that are changed, from the address or the session, each with its factor."""
    said = dragging.read(key, "", lambda said: parsed(said, n_layers, n_heads), str)
    return read_factors(said, n_layers, n_heads)[0]


def parsed(said: object, n_layers: int, n_heads: int) -> tuple[str, bool]:
    """The heads that a text such as "2.5*0 1.3*-1" changes, in their one form, and whether all of it made sense."""
    found, exact = read_factors(str(said or "")[:LONGEST], n_layers, n_heads)
    return written_factors(found), exact


def show(
    key: str,
    river: River,
    factors: Factors,
    *,
    foldable: bool,
    on_word: Callable[[int], None],
    on_against: Callable[[int], None],
    on_whole: Callable[[], None],
    on_column: Callable[[int], None],
    on_ribbon: Callable[[int, int, int, int], None],
    on_token: Callable[[int], None],
) -> None:
    """Draw it, and take what is changed.

    Args:
        key: of the control that `read` reads.
        factors: from `read`.
        foldable: whether a click on a layer's number is told of.
        on_word: told the place of the next token that was clicked.
        on_against: told the place of the one that it is to be compared with.
        on_whole: told that widths are to be those of the state.
        on_column: told the place of the column whose number was clicked.
        on_ribbon: told layer, head, query and key of the ribbon that was clicked, while the page runs.
        on_token: told the place of the token that was clicked.
    """
    state = keys.own("river", key)
    n_layers, n = len(river.flow.layers), len(river.tokens)
    n_heads = len(river.effects[0])

    def heard(name: str) -> Any:
        event = st.session_state.get(state)
        return event.get(name) if event is not None else None

    def moved() -> None:
        if (said := dragging.heard(key, dragging.event(state))) is not None:
            dragging.take(key, written_factors(read_factors(str(said.get("heads"))[:LONGEST], n_layers, n_heads)[0]))

    def word() -> None:
        if (place := target({"to": heard("word")}, 0, len(river.following) - 1)) is not None:
            on_word(place)

    def against() -> None:
        if (place := target({"to": heard("against")}, 0, len(river.following) - 1)) is not None:
            on_against(place)

    def whole() -> None:
        if heard("whole") is True:
            on_whole()

    def column() -> None:
        if (place := target({"to": heard("open")}, 0, len(river.columns) - 1)) is not None:
            on_column(place)

    def token() -> None:
        if (place := target({"to": heard("token")}, 0, n - 1)) is not None:
            on_token(place)

    with embedding.box(KEY):
        chosen = _component(
            key=state,
            data=_data(river, factors, foldable, dragging.answered(key)),
            on_moved_change=moved,
            on_word_change=word,
            on_against_change=against,
            on_whole_change=whole,
            on_open_change=column,
            on_token_change=token,
            on_ribbon_change=lambda: None,
        )
    match chosen.get("ribbon"):
        case [int(layer), int(head), int(query), int(place)]:
            if 0 <= layer < n_layers and 0 <= head < n_heads and 0 <= query < n and 0 <= place < n:
                on_ribbon(layer, head, query, place)


def _data(river: River, factors: Factors, foldable: bool, seq: int) -> dict[str, Any]:
    n_layers = len(river.flow.layers)
    names = sorted({kind for row in river.kinds for kind in row})
    ribbons = [
        [[one.query, one.key, round(one.share, 4), one.head] for one in column.ribbons] for column in river.columns
    ]
    return {
        "seq": seq,
        "tokens": list(river.tokens),
        "target": river.flow.target,
        "layers": [name if " " in name else f"layer {name}" for name in river.flow.layers],
        "columns": [
            {"first": column.first, "last": column.last, "open": column.open, "ribbons": flows}
            for column, flows in zip(river.columns, ribbons, strict=True)
        ],
        "stream": river.flow.stream.round(4).tolist(),
        "feedforward": river.flow.feedforward.round(4).tolist(),
        "effects": [[round(float(effect), 3) for effect in layer] for layer in river.effects],
        "exact": list(river.exact),
        "largest": max((abs(float(effect)) for layer in river.effects for effect in layer), default=1.0) or 1.0,
        "measure": river.measure,
        "kinds": [list(row) for row in river.kinds],
        "hues": {name: LOUDER.get(name, HEAD_KINDS[name]) for name in names},
        "factors": {f"{layer}.{head}": by for (layer, head), by in factors.items()},
        "guesses": [one and [one[0], round(one[1], 4)] for one in river.guesses],
        "next": [[token, round(probability, 5)] for token, probability in river.following],
        "drawing": river.drawing,
        "word": river.word,
        "against": river.against,
        "whole": river.whole,
        "traced": river.traced,
        "tracing": river.tracing,
        "foldable": foldable,
        "linked": river.linked,
        "choosing": river.choosing,
        "story": river.story,
        "head": {
            "key": KEY,
            "v": links.VERSION,
            "alt": river.story,
            "alone": embedding.is_alone(KEY),
            "open": embedding.is_allowed(),
        },
        "label": f"The flow of information through {counted(len(river.tokens), 'token')} and {n_layers} layers",
    }
