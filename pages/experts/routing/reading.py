"""Controls and cached results that the sections of the page on routing share: model, text, routing, counts."""

from typing import Any, NamedTuple

import streamlit as st

from pages.experts.routing import experiments
from pages.ui import cache, controls, fragments, notices, text
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read, text_box
from tfcore import shipped
from tfcore.analysis.experts.text_routing import RoutedText, RouterChange, TextRouting
from tfcore.config import ModelConfig
from tfcore.loading.checkpoints import CheckpointError
from tfcore.measures import one_text
from tfcore.measures.expert_scan import ExpertScan, load_scan
from tfcore.measures.one_text import FirstTokens

PAPERS = (
    "The router and its top k: arXiv:1701.06538, equation 5. One expert per token and the capacity: arXiv:2101.03961, "
    "equations 2 and 3. Mixtral: arXiv:2401.04088. Expert choice: arXiv:2202.09368. Shared and finer experts: "
    "arXiv:2401.06066."
)
TRAINED = "stories-moe"
SHARED = "stories-shared"
UNTRAINED = "untrained"
CHARACTERS = 2_000  # of a text
TOKENS = 128  # of them, that are read
FEW = 16  # experts that can be shown side by side
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. One day the ball rolled away and Lily "
    'ran after it. "Come back, ball!" she said. The ball did not stop. A big dog saw the ball and said, "I can help '
    'you, Lily!" The dog ran fast and got the ball. Lily was very happy.'
)


class Reading(NamedTuple):
    """A text as the chosen model reads it.

    Args:
        model: its name, for `network`.
        pasted: the text.
        text: its first tokens.
        layers: the blocks that have experts.
        n_experts, top_k: of each.
    """

    model: str
    pasted: str
    text: FirstTokens
    layers: range
    n_experts: int
    top_k: int


@st.cache_resource(max_entries=1, show_spinner=False)
def untrained() -> tuple[Any, Any]:
    """A model of the same shape with random weights, and the tokenizer it would have."""
    return experiments.mixture(UNTRAINED)


def network(name: str) -> tuple[Any, Any]:
    """A model and its tokenizer, read only."""
    return untrained() if name == UNTRAINED else cache.model(name)


@cache.data(max_entries=128)
def first_tokens(name: str, pasted: str) -> FirstTokens:
    """The tokens that are used of a text."""
    return one_text.first_tokens(*network(name), pasted, TOKENS)


@cache.data(max_entries=96)
def routed(name: str, pasted: str, change: RouterChange | None = None) -> RoutedText:
    """What the routers do with a text, as trained or with a change."""
    return experiments.routed(network(name), pasted, TOKENS, change)


@st.cache_resource(max_entries=1, show_spinner=False)
def kept_scan() -> ExpertScan | str:
    """The counts over the held-out stories, or why they are not there."""
    try:
        found = load_scan(TRAINED)
    except CheckpointError:
        return (
            "The counts over the held-out stories are not here (experts.safetensors, beside the model); "
            "`make train RECIPE=experts` makes them in a minute. Shown instead is your text alone."
        )
    experts = network(TRAINED)[0].config.experts
    if found.load.shape[1] != experts.n_experts:
        return "The counts over the held-out stories belong to another model. Shown instead is your text alone."
    return found


def scan_of(name: str) -> ExpertScan | None:
    """The counts over the held-out stories of this model, if there are any."""
    found = kept_scan() if name == TRAINED else None
    return found if isinstance(found, ExpertScan) else None


def no_experts(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why there is nothing to route in a model, or None."""
    if config.experts is None:
        return "it has no experts: every token takes the same way through it."
    return models.silent(config, tokenizer)


def choose() -> str:
    """A mixture of experts: a shipped one, the larger of them untrained, or the visitor's own."""
    here = TRAINED in shipped()
    names = {name: name for name in ([TRAINED, SHARED] if here else []) + [UNTRAINED]}
    name = models.choose("decoder", default=next(iter(names)), why_not=no_experts, options=names)
    if name == UNTRAINED:
        why = "" if here else "No trained mixture of experts is here yet. "
        st.info(
            f"{why}This one has the shape of {TRAINED} and random weights, never trained: its choices mean nothing, "
            "which is worth a look beside a trained router."
        )
    return name


def read(only: str = "") -> Reading:
    """The controls for text and model, or for the text alone where only one model will do; stops the page where there
    is no text."""
    row = controls.text_row()
    name = only or choose()
    known = "stories" if name == UNTRAINED else name  # whose tokenizer the untrained one has
    pasted = text_box(known, "Text", "text", TEXT, CHARACTERS, height=130, row=row)
    read = first_tokens(name, pasted)
    notices.tokens(read.total, len(read.ids))
    if not read.ids:
        say_nothing_read(name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        fragments.stop()
    config = network(name)[0].config
    layers = range(config.experts.dense_layers, config.n_layers)
    return Reading(name, pasted, read, layers, config.experts.n_experts, config.experts.top_k)


def choose_layer(reading: Reading) -> tuple[int, int]:
    """A layer with experts: its number, and its place among them."""
    first, last = reading.layers[0], reading.layers[-1]
    layer = controls.slider("Layer", "layer", first, last, first)
    return layer, reading.layers.index(layer)


def formula(name: str) -> str:
    """The output of a layer with experts, LaTeX: weights that sum to 1 as in Mixtral, or probabilities as they are."""
    experts = network(name)[0].config.experts
    biased = " + b" if experts.bias_rate else ""
    shared = r" + \sum_j E^{\mathrm{shared}}_j(x)" if experts.n_shared else ""
    whole = experts.softmax == "after" or experts.renormalize
    weight = r"\frac{p_i}{\sum_{j \in T} p_j}" if whole else "p_i"
    return (
        rf"p = \mathrm{{softmax}}(W_r x), \quad T = \mathrm{{top}}_k(p{biased}), \quad "
        rf"y = \sum_{{i \in T}} w_i\, E_i(x){shared}, \quad w_i = {weight}"
    )


def parts(found: TextRouting, at: int) -> list[list[text.Part]]:
    """For the chips: the experts of every token in a layer, the largest weight first; hatched those without room."""
    bars = []
    for chosen, dropped, weights, probs in zip(
        found.chosen[at], found.dropped[at], found.weights[at], found.probs[at], strict=True
    ):
        (places,) = chosen.nonzero()
        experts = sorted(places.tolist(), key=lambda i: -probs[i])
        total = float(weights.sum()) or 1.0
        bar = [
            text.Part(str(i + 1), 0.25 if dropped[i] else float(weights[i]) / total, i, bool(dropped[i]))
            for i in experts
        ]
        bars.append(bar or [text.Part("–", 1.0, None, True)])
    return bars
