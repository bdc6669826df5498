"""Section of the page on attention: four tokens whose queries, keys and values can be dragged."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.foundations.attention.points import LIMIT, STEP, Points, parse, read, written
from pages.ui import controls, fragments
from pages.ui.components import dragging
from pages.ui.components.scene import Told, adding
from pages.ui.frame import Panel, panel, show
from tfcore.views.foundations import attention as views
from tfcore.views.foundations.attention.say import attended

WORDS = ["the", "cat", "sat", "up"]
QUERIES: Points = ((-0.5, 0.1), (0.4, 1.2), (1.8, -0.3), (-1.5, -0.8))
KEYS: Points = ((0.3, 1.7), (1.4, -1.0), (-1.4, -1.4), (-1.2, 0.9))
VALUES: Points = ((-1.6, -1.2), (1.5, 1.4), (-1.4, 1.3), (1.6, -1.3))


def points(queries: Points, keys: Points, values: Points = VALUES) -> dict[str, Any]:
    """The values that a "try this" button sets."""
    return {"points": written(queries + keys + values), "t": 1.0}


TRY: dict[str, dict[str, Any]] = {
    "start again": points(QUERIES, KEYS) | {"token": "sat"},
    "a query of zero": points((*QUERIES[:2], (0.0, 0.0), QUERIES[3]), KEYS) | {"token": "sat"},
    "one winner": points((*QUERIES[:2], (2.0, -2.0), QUERIES[3]), (KEYS[0], (2.0, -2.0), *KEYS[2:])) | {"token": "sat"},
    "two keys alike": points(QUERIES, (*KEYS[:2], KEYS[1], KEYS[3])) | {"token": "sat"},
    "each attends to itself": points(KEYS, KEYS) | {"token": "cat"},
    "higher temperature": {"t": 5.0},
}


def drag() -> None:
    """Drag, and see every number follow."""
    with panel(None) as p:
        p.examples(TRY)
        left, right = st.columns([3, 2], gap="medium")
        matrices = st.container()
        with right:
            temperature = controls.slider("Temperature T: softmax(score / T)", "t", 0.1, 10.0, 1.0, 0.1, format="%.1f")
        _live(p, left, right, matrices, temperature)
        p.what_to_see(
            "Drag the orange query of a token outwards, in the direction of a blue key: their dot product grows. "
            "Where it grows more than those of the other keys, so does its weight, and the token's ring (its output) "
            "moves towards the green value of that key. A longer query in the same direction makes the weights "
            "sharper. Dragging a value changes no weight, only the output. With the keyboard: Tab to a point, then "
            "the arrow keys, with Shift for larger steps."
        )
        p.question(
            "Can a ring ever leave the shape that the four green values span?",
            "No. The weights are positive and sum to 1, so an output is a weighted average of the values: it lies in "
            "their convex hull.",
        )


@fragments.fragment
def _live(p: Panel, left: DeltaGenerator, right: DeltaGenerator, matrices: DeltaGenerator, temperature: float) -> None:
    """Points, matrices and sentence: computed again for every position of the pointer, so nothing else is here."""
    dragged = read("points", QUERIES + KEYS + VALUES)
    with right:
        word = controls.segmented("Query token", "token", WORDS, "sat")
    chosen = WORDS.index(word)
    shown = views.steps(*thirds(dragged), WORDS, chosen, LIMIT, temperature)
    with matrices:  # first: its sentence is that of a link to this page
        p.show(shown)
    with left:
        _planes(dragged, chosen, temperature)
    with right:
        st.markdown(attended(shown.result, WORDS, chosen).markdown)


def thirds(points: Points) -> tuple[Points, Points, Points]:
    """Queries, keys and values."""
    n = len(WORDS)
    return points[:n], points[n : 2 * n], points[2 * n :]


def _planes(dragged: Points, chosen: int, temperature: float) -> None:
    view = views.planes(*thirds(dragged), WORDS, chosen, LIMIT, STEP, temperature)
    show(adding(view, seq=dragging.answered("points")), on_told=lambda told: take(told, dragged))


def take(told: Told, before: Points) -> None:
    """Points that were dragged; a query that is becomes the chosen one."""
    said = dragging.heard("points", told.value) if told.name == "moved" else None
    if said is None:
        return
    now, _ = parse(said.get("points"), before)
    dragging.take("points", written(now))
    token = dragging.whole(said.get("token"), len(WORDS) - 1)
    if said.get("kind") == "query" and token is not None:
        controls.set_values(token=WORDS[token])
