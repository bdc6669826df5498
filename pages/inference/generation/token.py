"""Section of the page on generation: one token, from the whole distribution to the draw."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.inference.generation.choices import CHARACTERS, OFF, TEXT, Prompt, filters, joined
from pages.ui import beside, controls, page, text
from pages.ui.components.player import player
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.measures.one_text import pieces_of
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation.measure.next_token import NextToken
from tfcore.views.sources import Reading

TRY: dict[str, dict[str, Any]] = {
    "all filters": {"text": TEXT, "penalty": 1.2, "temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05},
    "no filter": OFF,
    "greedy": OFF | {"temperature": 0.0},
    "temperature 1.8": OFF | {"temperature": 1.8},
    "top-p, high entropy": OFF | {"text": "The old man opened the door. Behind it was a", "top_p": 0.8},
    "top-p, low entropy": OFF | {"text": "Once upon a time there was a little dog", "top_p": 0.8},
    "repetition penalty": OFF | {"text": "Tom had a dog and a cat. Tom loved the", "penalty": 1.6},
}


def show(prompt: Prompt, second: DeltaGenerator) -> None:
    """Show the section.

    Args:
        second: where the text or the model stands that is compared with.
    """
    reading = Reading(prompt.model, prompt.pasted)
    with panel(None) as p, p.picture:
        p.examples({name: {"drawn": 0, **values} for name, values in TRY.items()})
        writing = st.container()
        left, right = st.columns([1, 3], gap="large")
        with left:
            box, more = st.container(), page.more_settings()
        with box:
            sampling, chosen_seed, _ = filters(more=more)
            with more:
                other = beside.choose(reading, TEXT, CHARACTERS, views.TOKENS, place=second, why_not=models.silent)
            most = views.most_drawn(prompt.model, prompt.ids)
            drawn = controls.slider("Tokens sampled before this one", "drawn", 0, most, 0)
            player("drawn", 0, most, drawn, label="tokens")
        given = prompt.model, prompt.pasted, sampling, chosen_seed, drawn
        shown = views.one_token(*given)
        result: NextToken = shown.result
        with right:
            p.show(shown)
            new = [*result.before, result.token]
            count = "1 token" if len(new) == 1 else f"{len(new)} tokens"
            st.markdown(f"**{count.capitalize()} drawn:**")
            words = joined(prompt, new)
            text.written(text.escape(words if words.strip() else text.visible(words)), "drawn")
        with writing:
            _written(prompt, result)
        if other is not None:
            p.show(views.beside(reading, other))
        p.show(views.where_u_falls(*given))
        left, right = st.columns([3, 2], gap="medium")
        with left:
            p.show(views.by_rank(*given))
        with right:
            for one in views.entropy_numbers(result):
                st.metric(one.label, one.value, help=one.help or None)
        p.what_to_see(
            "From left to right the filters act one after another: bars are what is left, hatched is what was cut "
            "away, outlines show the bars before. Top-k always keeps the same number of tokens; top-p and "
            "min-p keep more where the distribution is flatter: compare the two examples with top-p alone. What is "
            "left is renormalised and laid end to end; one random number *u* then falls on a token (inverse transform "
            "sampling). Move the seed: the distribution of the first token stays, only *u* moves."
        )
        p.question(
            "Temperature 0.1 and top-k 1 both sharpen. Is there a text that one can write and the other cannot?",
            "Yes. Top-k 1 removes every token but the first for good. At temperature 0.1 all tokens stay possible, "
            "though barely: one with half the probability of the best is left with a part in 2^10 of it. Above 0 the "
            "temperature cuts nothing; the filters after it do.",
        )


def _written(prompt: Prompt, result: NextToken) -> None:
    """The end of the text, with what was drawn."""
    given = list(prompt.ids[-30:])
    new = [*result.before, result.token]
    text.chips(
        pieces_of(prompt.tokenizer, given + new),
        key="sofar",
        selected=len(given) + len(new) - 1,
        label="The text so far",
        shade=[0.0] * len(given) + [0.5] * (len(new) - 1) + [1.0],
    )
