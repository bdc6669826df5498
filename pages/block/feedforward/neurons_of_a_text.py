"""Part of the page on the feed-forward layer: the neurons that write the next token, in any decoder."""

from typing import Any

import streamlit as st

from pages.ui import controls, notices, page, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel
from pages.ui.loading import models
from pages.ui.reading import last_tokens, say_nothing_read, text_box
from tfcore.config import ModelConfig
from tfcore.measures import neuron_scan
from tfcore.views.block import feedforward as views
from tfcore.views.block.feedforward.measure.neurons import Promotion
from tfcore.views.block.feedforward.measure.shares import without_shares
from tfcore.views.block.feedforward.neurons import first_of, read_of, writers_of
from tfcore.views.sources import Reading

CHARACTERS = 2_000
TEXT = "The capital of France is"


def unfit(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model's neurons cannot be shown, or None."""
    return without_shares(config) or models.attention_alone(config, tokenizer) or models.silent(config, tokenizer)


def show(p: Panel, name: str) -> None:
    """Show the section for a model without a scan."""
    p.examples(
        {
            "a capital": {"text": TEXT},
            "a name": {"text": "When Mary and John went to the store, John gave a drink to"},
            "a month": {"text": "The committee meets on the first Monday of every"},
            "half a percentage": {"text": "The central bank raised its key interest rate by half a percentage"},
            "code": {"text": "for i in range(10):\n    print("},
        }
    )
    with p.controls:
        pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=68)
    used = last_tokens(name, pasted, views.most_tokens(models.config(name)))
    if not used.ids:
        say_nothing_read(name, pasted, "text", "There is no text yet: type or paste some above.")
        return
    notices.tokens(used.total, len(used.ids))
    reading = Reading(name, pasted)
    with p.controls:
        token = controls.place("Token", "token", len(used.ids), first_of(reading), of=tuple(used.ids))
        layer, neuron = choose_neuron(reading, token)
        value = views.value_there(reading, token, layer, neuron)
        probability(value.result)
    with p.picture:
        shares, beside = st.columns([3, 2], gap="medium")
        with shares:
            st.markdown("**Who writes the next token**, and what each raises most.")
            p.show(views.writers(reading, token, layer, neuron), click, "Click a bar to choose a neuron.")
        with beside:
            st.markdown("**Value.** What the chosen one writes there, in logits.")
            p.show(value)
    own = read_of(name, pasted).values[layer, :, neuron]
    text.chips(
        read_of(name, pasted).tokens,
        key="chips",
        selected=token,
        shade=(abs(own) / (abs(own).max() or 1.0)).tolist(),
        label="Choose a token",
        titles=neuron_scan.activation_words(own),
        on_select=lambda i: controls.set_values(token=i),
    )
    p.show(views.along(reading, token, layer, neuron))
    p.what_to_see(
        "A neuron writes its value vector times its activation, so its share in a logit can be read off, and all "
        "shares of a layer add up to that of the layer. The caption says over how many neurons the sum is spread. "
        "Grey bars lower the logit. The number at the left sets the chosen neuron to 0 at this token alone: what "
        "later layers made of it goes as well, and others may take its place."
    )
    p.question(
        "A neuron in an early layer has almost no share in this logit. Does it do nothing?",
        "It writes for later layers: what it adds is read by heads and neurons above, and becomes part of what those "
        "write. A direct share leaves that out. Ablation, on the page of interventions, measures it.",
    )


def choose_neuron(reading: Reading, token: int) -> tuple[int, int]:
    """Layer and number of the neuron looked at: the one with the largest share, until another is chosen."""
    first, config = writers_of(reading, token).largest[0], models.config(str(reading.model))
    with page.more_settings():
        layer = controls.place("Layer", "layer", config.n_layers, first.layer)
        return layer, controls.place("Neuron", "neuron", config.ff_size, first.neuron)


def click(event: Event) -> None:
    """A click on a bar chooses its neuron."""
    match event["customdata"]:
        case [int(layer), int(neuron)]:
            controls.set_values(layer=layer, neuron=neuron)


def probability(promoted: Promotion) -> None:
    """The probability of the token that follows, with the neuron and without it."""
    if promoted.followed is not None:
        st.metric(
            f"Probability of “{text.escape(text.visible(promoted.followed))}” there",
            f"{promoted.with_it:.1%}",
            f"{promoted.without_it:.1%} without it",
            delta_color="off",
            delta_arrow="off",
        )
