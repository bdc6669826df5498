"""Section of the page on attention: softmax of three numbers at any temperature, and an example to check by hand."""

import pandas as pd
import streamlit as st

from pages.ui import controls
from pages.ui.frame import panel
from tfcore.views.foundations import attention as views
from tfcore.views.foundations.attention.say import softmax_weights
from tfcore.views.foundations.attention.steps import sweep_of

SCORES = (8.0, 0.1, -0.3)
# scores: the weights that one course prints beside them
PRINTED: dict[tuple[float, ...], str] = {SCORES: "0.9997, 0.0002, 0.0001", (1.0, 0.0125, -0.0375): "the same"}


def temperature() -> None:
    """Sliders beside the curves, then the check."""
    st.markdown(
        "**Temperature divides the scores before the softmax**: a low one gives the largest score nearly all the "
        "weight, a high one makes the weights even."
    )
    with panel() as p:
        p.examples(
            {
                "the example": dict(zip(("x1", "x2", "x3"), SCORES, strict=True)) | {"temperature": 1.0},
                "÷ √64": dict(zip(("x1", "x2", "x3"), SCORES, strict=True)) | {"temperature": 8.0},
                "a tie": {"x1": 2.0, "x2": 2.0, "x3": -2.0, "temperature": 1.0},
                "low temperature": {"temperature": 0.1},
                "high temperature": {"temperature": 20.0},
            }
        )
        with p.controls:
            scores = tuple(
                controls.slider(f"Score x{i + 1}", f"x{i + 1}", -10.0, 10.0, score, 0.1, format="%.1f")
                for i, score in enumerate(SCORES)
            )
            temperature = controls.slider("Temperature T", "temperature", 0.1, 20.0, 1.0, 0.1, format="%.1f")
        shown = views.temperature(scores, temperature)
        with p.picture:
            *places, last = st.columns(len(scores) + 1)
            weights = shown.result.weights_text().split(", ")
            for i, (place, weight) in enumerate(zip(places, weights, strict=True), start=1):
                place.metric(f"Weight of x{i}", weight)
            last.metric("Entropy", shown.result.entropy_text)
            p.show(shown)
        _check()
        p.what_to_see(
            "The order of the weights never changes with T, only how far apart they are. Adding the same number to "
            "all scores changes nothing; only differences count. At T = 8 = √64 you see what the division by √d_k "
            "does in a head of 64 dimensions: the largest weight is no longer nearly 1."
        )
        p.question(
            "Two scores are equal and the third is lower. What are the weights as T goes to 0?",
            "1/2, 1/2 and 0: the softmax does not break ties. Try “a tie” and pull the temperature down.",
        )


def _check() -> None:
    """An example from one course's explanation of the division, with all its digits."""
    st.markdown("**A check.** An example from one course on why scores are divided by √64 = 8, computed now:")
    rows = []
    for scores, printed in PRINTED.items():
        weights = softmax_weights(sweep_of(scores, 1.0))
        rows.append(
            {
                "softmax of": weights.scores_text,
                "is": weights.weights_text(4 if scores == SCORES else 3),
                "printed there": printed,
                "sum": weights.sum_text,
            }
        )
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="content")
