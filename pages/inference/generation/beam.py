"""Section of the page on generation: beam search as a tree."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.generation import experiments as experiments
from pages.inference.generation.settings import TEXT, TOKENS, Prompt, joined
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inference import beam_tree as analysis
from tfcore.analysis.inference.beam_tree import BeamTree
from tfcore.generation import beam

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


@cache.data(max_entries=8)
def ends(model: str) -> tuple[int, ...]:
    return analysis.sentence_ends(cache.model(model)[1])


search = cache.of_model(max_entries=64)(analysis.search_text)
greedy = cache.of_model(max_entries=64)(analysis.greedy_behind)


def show(prompt: Prompt) -> None:
    """The section."""
    page.try_this(TRY)
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
    stop_ids = ends(prompt.model) if sentence else prompt.stop_ids
    given = prompt.model, prompt.pasted, TOKENS, beams, steps, penalty, stop_ids
    tree = search(*given, greedy(prompt.model, prompt.pasted, TOKENS, steps, stop_ids))
    with picture:
        _tree(prompt, tree)
    _results(tree)
    st.markdown(
        "**Beam search keeps several hypotheses.** Each step extends all of them by every token and keeps the most "
        "likely: a likely text behind an unlikely first token can be found."
    )
    page.what_to_see(
        "Above the dotted line are the hypotheses that are kept, the likeliest at the top, below it those that were "
        "considered and pruned. Follow a line to the left to read a text. The thick line is the text with the best "
        "score in the end, the dotted one that of greedy decoding, which takes the likeliest token at each step and "
        "yet can be pruned. Numbers are the probability of each token given its prefix."
    )
    page.question(
        "With texts that end with their sentence, α = 0 favours short ones. Why?",
        "A log-probability is never above 0, so each further token can only lower the sum. Without a penalty the "
        "search compares sums of few numbers with sums of many. Divided by the length (α = 1) it compares means.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.beams, made(analysis.search_text, *given)),
        formula=r"\mathrm{score}(y) = \frac{1}{|y|^{\alpha}} \sum_{i=1}^{|y|} \log p(y_i \mid \text{text}, y_{<i})",
        code=(beam.beam_steps, analysis.tree_nodes),
        papers="Length penalty: after arXiv:1609.08144, eq. 14, with the plain length, as in most libraries",
    )


def _tree(prompt: Prompt, tree: BeamTree) -> None:
    shown = experiments.beams(tree)
    figure(
        shown.figure,
        key="tree",
        height=520,
        min_width=max(340, 100 * tree.steps),
        alt=shown.alt,
        caption=f"{shown.caption} Framed: finished.",
        table=lambda: pd.DataFrame(
            {
                "step": [node.step for node in tree.nodes],
                "rank": [node.rank for node in tree.nodes],
                "text": [joined(prompt, node.ids) for node in tree.nodes],
                "probability": [node.probability for node in tree.nodes],
                "log p": [node.score for node in tree.nodes],
                "state": [node.state for node in tree.nodes],
            }
        ),
    )


def _results(tree: BeamTree) -> None:
    """The finished texts and greedy's, with their scores."""
    shown = experiments.scores(tree)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        figure(
            shown.figure,
            key="results",
            height=90 + 30 * len(tree.texts),
            alt=shown.alt,
            caption=f"{shown.caption} Nearer to 0 is better.",
        )
    with right:
        for i, found in enumerate(tree.texts):
            name = f"{i + 1}" if i < len(tree.results) else "greedy"
            st.markdown(f"**{name}** · {text.escape(found)}")
