"""Section of the page on attention: four tokens whose queries, keys and values can be dragged."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import controls, fragments
from pages.ui.components import planes
from pages.ui.frame import Panel, panel
from tfcore.views.foundations import attention as views
from tfcore.views.foundations.attention.measure.steps import AttentionSteps
from tfcore.views.foundations.attention.say import attended

WORDS = ["the", "cat", "sat", "up"]
QUERIES: planes.Points = ((-0.5, 0.1), (0.4, 1.2), (1.8, -0.3), (-1.5, -0.8))
KEYS: planes.Points = ((0.3, 1.7), (1.4, -1.0), (-1.4, -1.4), (-1.2, 0.9))
VALUES: planes.Points = ((-1.6, -1.2), (1.5, 1.4), (-1.4, 1.3), (1.6, -1.3))
PLANES = [
    planes.Plane(
        title="● queries and ■ keys: the more they point the same way, the higher the score.",
        label="Queries and keys",
        kinds=("query", "key"),
    ),
    planes.Plane(
        title="◆ values. Rings: outputs; lines: the weights of the chosen query.",
        label="Values and outputs",
        kinds=("value",),
    ),
]


def points(queries: planes.Points, keys: planes.Points, values: planes.Points = VALUES) -> dict[str, Any]:
    """What a "try this" button sets."""
    return {"points": planes.written(queries + keys + values), "t": 1.0}


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
    dragged = planes.read("points", QUERIES + KEYS + VALUES)
    n = len(WORDS)
    with right:
        word = controls.segmented("Query token", "token", WORDS, "sat")
    chosen = WORDS.index(word)
    shown = views.steps(dragged[:n], dragged[n : 2 * n], dragged[2 * n :], WORDS, chosen, planes.LIMIT, temperature)
    with left:
        _planes(dragged, shown.result, chosen)
    with right:
        st.markdown(attended(shown.result, WORDS, chosen).markdown)
    with matrices:
        p.show(shown)


def _planes(dragged: planes.Points, steps: AttentionSteps, chosen: int) -> None:
    values = dragged[2 * len(WORDS) :]
    outputs = [(float(x), float(y)) for x, y in steps.outputs]
    weights = [float(weight) for weight in steps.weights[chosen]]
    planes.show(
        "points",
        dragged,
        tokens=WORDS,
        planes=PLANES,
        chosen=chosen,
        marks=[
            planes.Mark(
                plane=1, at=at, title=f"output of {word}: {attended(steps, WORDS, i).output_text}", strong=i == chosen
            )
            for i, (word, at) in enumerate(zip(WORDS, outputs, strict=True))
        ],
        lines=[
            planes.Link(plane=1, start=value, end=outputs[chosen], width=round(9 * weight, 2))
            for value, weight in zip(values, weights, strict=True)
        ],
        on_move=_choose,
    )


def _choose(kind: str, token: int) -> None:
    """A query that is dragged becomes the chosen one."""
    if kind == "query":
        controls.set_values(token=WORDS[token])
