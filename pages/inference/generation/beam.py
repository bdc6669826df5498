"""Section of the page on generation: beam search as a tree."""

from typing import Any

import streamlit as st

from pages.inference.generation.choices import TEXT, Prompt
from pages.ui import controls, page, text
from pages.ui.frame import panel
from tfcore.views.inference import generation as views

TRY: dict[str, dict[str, Any]] = {
    "greedy loses": {
        "model": "stories",
        "text": TEXT,
        "beams": 3,
        "steps": 8,
        "sentence": False,
        "length_penalty": 1.0,
    },
    "one beam: greedy": {"beams": 1},
    "many beams": {"beams": 6},
    "α = 0: short wins": {"text": TEXT, "sentence": True, "beams": 4, "steps": 12, "length_penalty": 0.0},
    "α = 2: long wins": {"text": TEXT, "sentence": True, "beams": 4, "steps": 12, "length_penalty": 2.0},
}


def show(prompt: Prompt) -> None:
    """Show the section."""
    with panel(None) as p, p.picture:
        p.examples(TRY)
        picture = st.container()
        places = st.columns([2, 2, 1], gap="medium", vertical_alignment="bottom")
        with places[0]:
            beams = controls.slider("Beam width", "beams", 1, 6, 3)
        with places[1]:
            steps = controls.slider("Max new tokens", "steps", 1, 14, 8)
        with places[2], page.more_settings():
            penalty = controls.slider(
                "Length penalty α",
                "length_penalty",
                -1.0,
                3.0,
                1.0,
                0.25,
                format="%.2f",
                help="0: the sum of log-probabilities, which favours short texts. 1: their mean. Above 1: favours long "
                "ones.",
            )
            sentence = controls.toggle(
                "End with the sentence",
                "sentence",
                help="Off: all texts have the same length, so the length penalty changes the scores, not the order.",
            )
        stop_ids = views.sentence_ends(prompt.model) if sentence else prompt.stop_ids
        given = prompt.model, prompt.pasted, beams, steps, penalty, stop_ids
        with picture:
            p.show(views.beams(*given))
        left, right = st.columns([2, 3], gap="medium")
        scores = views.scores(*given)
        with left:
            p.show(scores)
        with right:
            for i, continuation in enumerate(scores.result.texts):
                name = f"{i + 1}" if i < len(scores.result.results) else "greedy"
                st.markdown(f"**{name}** · {text.escape(continuation)}")
        st.markdown(
            "**Beam search keeps several hypotheses.** Each step extends all of them by every token and keeps the most "
            "likely: a likely text behind an unlikely first token can be found."
        )
        p.what_to_see(
            "Above the dotted line are the hypotheses that are kept, the likeliest at the top, below it those that "
            "were considered and pruned. Follow a line to the left to read a text. The thick line is the text with the "
            "best score in the end, the dotted one that of greedy decoding, which takes the likeliest token at each "
            "step and yet can be pruned. Numbers are the probability of each token given its prefix."
        )
        p.question(
            "With texts that end with their sentence, α = 0 favours short ones. Why?",
            "A log-probability is never above 0, so each further token can only lower the sum. Without a penalty the "
            "search compares sums of few numbers with sums of many. Divided by the length (α = 1) it compares means.",
        )
