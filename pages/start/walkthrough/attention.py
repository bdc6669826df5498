"""The stage on which one head computes: queries, keys and values, scores, mask, weights, output, each in its place.

attention_stage.js draws it and moves it from one step to the next.
"""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy import ndarray

from pages.ui import controls, keys, text
from pages.ui.components import assets
from pages.ui.components.player import target
from pages.ui.head_links import HeadOfText
from tfcore.views.start.walkthrough.measure.heads import STEPS as STEPS
from tfcore.views.start.walkthrough.measure.heads import head_steps
from tfcore.views.start.walkthrough.measure.walk import WalkedText
from tfcore.views.start.walkthrough.say.stages import strongest_keys

FULL = 99  # the number that stands for the strongest colour of a vector's component
HEAD, CELL, HIGHEST = 246, 27, 350  # pixels: of what stands around the scores, of a row of them, of all rows at most
USUAL = 99.0  # percentile of the components that has it
_component = assets.component("tf_attention_stage", "attention_stage.js")


def show(walked: WalkedText, stage: str, head: int, labels: Mapping[str, str], there: HeadOfText | None = None) -> None:
    """Draw the stage.

    Args:
        stage: one of STEPS that the model has.
        labels: of its stages, as the map calls them.
        there: the head on the page on heads, where that reads the same text: a click on a cell leads there.
    """
    found = head_steps(walked.walk, head)
    at, last = found.steps.index(stage), len(found.steps) - 1
    vectors, values = _limit(*found.queries, *found.keys), _limit(found.values, found.output)

    state = keys.own("attention_stage", "attention stage")

    def moved() -> None:
        if (to := target(st.session_state.get(state), 0, last)) is not None:
            controls.set_values(stage=found.steps[to])

    def asked() -> None:
        said, n = st.session_state.get(state), len(walked.tokens)
        match said.get("cell") if isinstance(said, Mapping) else None:
            case [int(query), int(key)] if there is not None and 0 <= query < n and 0 <= key < n:
                if found.weights[query, key] > 0:
                    there.open(query, key)

    _component(
        key=state,
        data={
            "steps": list(found.steps),
            "labels": [labels[step] for step in found.steps],
            "at": at,
            "tokens": [text.visible(token) for token in walked.tokens],
            "width": found.values.shape[1],
            "queries": [_whole(one, vectors) for one in found.queries],
            "keys": [_whole(one, vectors) for one in found.keys],
            "values": _whole(found.values, values),
            "output": _whole(found.output, values),
            "scores": [one.round(2).ravel().tolist() for one in found.scores],
            "allowed": found.allowed.astype(int).ravel().tolist(),
            "weights": found.weights.round(3).ravel().tolist(),
            "stories": [str(one) for one in strongest_keys(walked.tokens, found)],
            "linked": there is not None,
            "label": f"Attention of head {head} in layer {walked.walk.layer}, {labels[stage]}",
            "height": HEAD + min(CELL * len(walked.tokens), HIGHEST),
        },
        on_to_change=moved,
        on_cell_change=asked,
    )
    if there is not None:
        st.caption("Click a score or a weight, or press Enter, to see why the head looks there.")
        there.link_strongest(found.weights, walked.tokens, walked.tokens)


def _limit(*vectors: ndarray) -> float:
    """The size that has the strongest colour; the few columns that are far larger have it, too."""
    return max(float(np.percentile(np.abs(one), USUAL)) for one in vectors) or 1.0


def _whole(vectors: ndarray, limit: float) -> list[int]:
    """Whole numbers from -FULL to FULL: colours need no more."""
    found: list[int] = (vectors / limit * FULL).round().clip(-FULL, FULL).astype(int).ravel().tolist()
    return found
