"""Controls that the sections of the page on routing share: model, text, layer."""

from typing import Any, NamedTuple

import streamlit as st

from pages.ui import controls, fragments, notices, text
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read, text_box
from tfcore import shipped
from tfcore.config import ModelConfig
from tfcore.measures.one_text import UsedTokens
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.measure.text_routing import TextRouting
from tfcore.views.sources import Reading

CHARACTERS = 2_000  # of a text
FEW = 16  # experts that can be shown side by side
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away and Lily "
    'ran after it. "Come back, ball!" she said. The ball did not stop. A big dog saw the ball and said, "I can help '
    'you, Lily!" The dog ran fast and got the ball. Lily was very happy.'
)


class Chosen(NamedTuple):
    """A text as the chosen model reads it.

    Args:
        reading: the model's name, and the text.
        text: its first tokens.
        layers: the blocks that have experts.
        n_experts, top_k: of each.
    """

    reading: Reading
    text: UsedTokens
    layers: tuple[int, ...]
    n_experts: int
    top_k: int


def no_experts(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why there is nothing to route in a model, or None."""
    if config.experts is None:
        return "it has no experts: every token takes the same way through it."
    return models.silent(config, tokenizer)


def choose() -> str:
    """A mixture of experts: a shipped one, the larger of them untrained, or the visitor's own."""
    here = views.TRAINED in shipped()
    names = {name: name for name in ([views.TRAINED, views.SHARED] if here else []) + [views.UNTRAINED]}
    name = models.choose("decoder", default=next(iter(names)), why_not=no_experts, options=names, reads="the stream")
    if name == views.UNTRAINED:
        why = "" if here else "No trained mixture of experts is here yet. "
        st.info(
            f"{why}This one has the shape of {views.TRAINED} and random weights, never trained: its choices mean "
            "nothing, which is worth a look beside a trained router."
        )
    return name


def read(only: str = "") -> Chosen:
    """The controls for text and model, or for the text alone where only one model will do; stops the page where there
    is no text."""
    row = controls.text_row()
    name = only or choose()
    known = "stories" if name == views.UNTRAINED else name  # whose tokenizer the untrained one has
    pasted = text_box(known, "Text", "text", TEXT, CHARACTERS, height=130, row=row)
    reading = Reading(name, pasted)
    read = views.read_of(reading)
    notices.tokens(read.total, len(read.ids))
    if not read.ids:
        say_nothing_read(name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        fragments.stop()
    experts = views.network(name)[0].config.experts
    return Chosen(reading, read, views.routed_layers(name), experts.n_experts, experts.top_k)


def choose_layer(now: Chosen) -> tuple[int, int]:
    """A layer with experts: its number, and its place among them."""
    first, last = now.layers[0], now.layers[-1]
    if len(now.layers) == last - first + 1:
        layer = controls.slider("Layer", "layer", first, last, first)
    else:  # others stand between
        layer = controls.select("Layer", "layer", list(now.layers), first)
    return layer, now.layers.index(layer)


def parts(routing: TextRouting, at: int) -> list[list[text.BarPart]]:
    """For the chips: the experts of every token in a layer, the largest weight first; hatched those without room."""
    bars = []
    for chosen, dropped, weights, probs in zip(
        routing.chosen[at], routing.dropped[at], routing.weights[at], routing.probs[at], strict=True
    ):
        (places,) = chosen.nonzero()
        experts = sorted(places.tolist(), key=lambda i: -probs[i])
        total = float(weights.sum()) or 1.0
        bar = [
            text.BarPart(str(i + 1), 0.25 if dropped[i] else float(weights[i]) / total, i, bool(dropped[i]))
            for i in experts
        ]
        bars.append(bar or [text.BarPart("–", 1.0, None, True)])
    return bars
