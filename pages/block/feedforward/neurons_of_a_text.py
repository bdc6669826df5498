"""Panel of the page on the feed-forward layer: the neurons that write the next token, in any decoder."""

from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.block.feedforward import experiments
from pages.ui import cache, controls, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.block import neuron_shares, neurons
from tfcore.analysis.block.neuron_shares import NeuronReading, WritingNeurons
from tfcore.config import ModelConfig
from tfcore.measures import neuron_scan

CHARACTERS = 2_000
TOKENS = 128
BYTES = 64_000_000  # of the activations of one text: of larger models fewer tokens are read
TEXT = "The capital of France is"
TRY: dict[str, dict[str, Any]] = {
    "a capital": {"text": TEXT},
    "a name": {"text": "When Mary and John went to the store, John gave a drink to"},
    "a month": {"text": "The committee meets on the first Monday of every"},
    "half a percentage": {"text": "The central bank raised its key interest rate by half a percentage"},
    "code": {"text": "for i in range(10):\n    print("},
}


@cache.shared(max_entries=4)
def read(model: str, pasted: str) -> Any:
    """The run of a text, and what its neurons did."""
    return neuron_shares.read_neurons(*cache.model(model), pasted, most_tokens(models.config(model)))


def most_tokens(config: ModelConfig) -> int:
    """How many tokens of a text are read."""
    return max(1, min(TOKENS, BYTES // (4 * config.n_layers * config.ff_size)))


@cache.data(max_entries=64)
def writers(model: str, pasted: str, position: int) -> WritingNeurons:
    """The neurons with the largest shares after one token."""
    return neuron_shares.writing_neurons(*cache.model(model), read(model, pasted), position)


@cache.data(max_entries=64)
def first(model: str, pasted: str) -> int:
    """The token looked at first."""
    return neuron_shares.first_token(cache.model(model)[0], read(model, pasted))


@cache.data(max_entries=64)
def promotion(model: str, pasted: str, position: int, layer: int, neuron: int) -> neurons.Promotion:
    """What a neuron writes at one token."""
    return neuron_shares.promotion_here(*cache.model(model), read(model, pasted), position, layer, neuron)


def unfit(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model's neurons cannot be shown, or None."""
    return neuron_shares.without_shares(config) or models.silent(config, tokenizer)


def show(name: str, tries: DeltaGenerator, left: DeltaGenerator, right: DeltaGenerator) -> None:
    """The panel, for a model without a scan: examples, controls and figures go to these places."""
    with tries:
        page.try_this(TRY)
    with left:
        pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=68)
    limit = most_tokens(models.config(name))
    used = first_tokens(name, pasted, limit)
    if not used.ids:
        say_nothing_read(name, pasted, "text", "There is no text yet: type or paste some above.")
        return
    notices.tokens(used.total, len(used.ids))
    reading: NeuronReading = read(name, pasted)
    last = len(used.ids) - 1
    with left:
        token = controls.slider("Token", "token", 0, last, first(name, pasted))
        found = writers(name, pasted, token)
        layer, neuron = choose_neuron(reading, found)
        written = promotion(name, pasted, token, layer, neuron)
        probability(written)
    with right:
        shares, value = st.columns([3, 2], gap="medium")
    with shares:
        st.markdown("**Who writes the next token**, and what each raises most.")
        drawn = experiments.shares(found, layer, neuron)
        figure(
            drawn.figure,
            key="shares",
            height=330,
            on_click=click,
            table=lambda: pd.DataFrame(found.largest),
            alt=drawn.alt,
            caption=f"{drawn.caption} Click a bar to choose a neuron.",
        )
    with value:
        promoted(written, "What the chosen one writes there, in logits.", "what the model expects next")
    along(reading, layer, neuron, token)
    page.what_to_see(
        "A neuron writes its value vector times its activation, so its share in a logit can be read off, and all "
        "shares of a layer add up to that of the layer. The caption says over how many neurons the sum is spread. "
        "Grey bars lower the logit. The number at the left sets the chosen neuron to 0 at this token alone: what "
        "later layers made of it goes as well, and others may take its place."
    )
    page.question(
        "A neuron in an early layer has almost no share in this logit. Does it do nothing?",
        "It writes for later layers: what it adds is read by heads and neurons above, and becomes part of what those "
        "write. A direct share leaves that out. Ablation, on the page of interventions, measures it.",
    )
    given = made(neuron_shares.read_neurons, name, pasted, limit)
    page.how_it_is_computed(
        page.experiment(experiments.shares, made(neuron_shares.writing_neurons, name, given, token), layer, neuron),
        formula=(
            r"\mathrm{FF}(x) = \sum_{i=1}^{d_{ff}} a_i(x)\, v_i \quad\Rightarrow\quad \Delta \mathrm{logit}_t = "
            r"\sum_i a_i(x)\, \frac{(\gamma \odot v_i) \cdot (W_U[t] - \bar W_U)}{s}"
        ),
        code=(neuron_shares.neuron_shares, neurons.promoted, neurons.neuron_off),
        papers=(
            "Key-value memories: arXiv:2012.14913, equations 1 and 2; what values promote: arXiv:2203.14680; direct "
            "logit attribution: arXiv:2211.00593, section 3.1"
        ),
    )


def choose_neuron(reading: NeuronReading, found: WritingNeurons) -> tuple[int, int]:
    """Layer and number of the neuron looked at: the one with the largest share, until another is chosen."""
    first, (layers, _, width) = found.largest[0], reading.values.shape
    with page.more_settings():
        layer = controls.place("Layer", "layer", layers, first.layer)
        return layer, controls.place("Neuron", "neuron", width, first.neuron)


def click(event: Event) -> None:
    """A click on a bar chooses its neuron."""
    match event["customdata"]:
        case [int(layer), int(neuron)]:
            controls.set_values(layer=layer, neuron=neuron)


def promoted(found: neurons.Promotion, said: str, marked: str) -> None:
    """The value of a neuron: the tokens it lifts and lowers.

    Args:
        said: what is shown, above the figure.
        marked: which token the figure marks.
    """
    st.markdown(f"**Value.** {said}")
    shown = experiments.promoted(found)
    figure(
        shown.figure,
        key="value",
        height=330,
        table=lambda: pd.DataFrame({"token": found.tokens, "logits": found.lifts}),
        alt=shown.alt,
        caption=f"{shown.caption} {found.shapes} ◂ marks {marked}.",
    )


def probability(found: neurons.Promotion) -> None:
    """The probability of the token that follows, with the neuron and without it."""
    if found.followed is not None:
        st.metric(
            f"Probability of “{text.escape(text.visible(found.followed))}” there",
            found.probability,
            found.ablated,
            delta_color="off",
            delta_arrow="off",
        )


def along(reading: NeuronReading, layer: int, neuron: int, token: int) -> None:
    """The activation of the chosen neuron at every token; a click on a token chooses it."""
    own = reading.values[layer, :, neuron]
    text.chips(
        reading.tokens,
        key="chips",
        selected=token,
        shade=(abs(own) / (abs(own).max() or 1.0)).tolist(),
        label="Choose a token",
        titles=neuron_scan.activation_words(own),
        on_select=lambda i: controls.set_values(token=i),
    )
    shown = experiments.along(reading, layer, neuron, token)
    figure(
        shown.figure,
        key="text",
        height=230,
        min_width=520,
        table=lambda: pd.DataFrame({"token": reading.tokens, "activation": own}),
        alt=shown.alt,
        caption=shown.alt,
    )
