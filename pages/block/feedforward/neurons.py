"""Panel of the page on the feed-forward layer: one neuron, its key and its value, in the model that has a scan."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.block.feedforward import experiments, neurons_of_a_text
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import first_tokens
from tfcore.analysis.block import neurons
from tfcore.measures import neuron_scan

MODEL = "stories"
CHARACTERS = 2_000
BEFORE = 22  # tokens of a snippet shown before its peak
AFTER = 6  # and from it on
TEXT = (
    "Tom gave Lily a big red kite. “Thank you, Tom!” she said. “Let's fly it.” It was an old kite. They ran for a long "
    "time and didn't stop. Then Tom met a girl named Sue."
)
SIDES = {0: "largest", 1: "smallest"}
TRY: dict[str, dict[str, Any]] = {
    "Thank → you": {"layer": 3, "neuron": 462, "side": 0},
    "an → a vowel": {"layer": 3, "neuron": 18, "side": 1},
    "named → a name": {"layer": 2, "neuron": 294, "side": 0},
    "an opening quote": {"layer": 1, "neuron": 63, "side": 1},
    "the end of a sentence": {"layer": 2, "neuron": 264, "side": 0},
    "long → time": {"layer": 2, "neuron": 206, "side": 1},
    "one that is hard to read": {"layer": 0, "neuron": 100, "side": 0},
}


strongest_texts = cache.of_model(max_entries=128)(neurons.strongest_texts)
promotion = cache.of_model(max_entries=128)(neurons.promotion)
promoted_tokens = cache.of_model(max_entries=64)(neurons.promoted_tokens)
read = cache.of_model(max_entries=8)(experiments.read)


def choose_neuron(event: Event) -> None:
    match event["customdata"]:
        case [int(layer), int(neuron), int(side)]:
            controls.set_values(layer=layer, neuron=neuron, side=side)


def show() -> None:
    """The panel."""
    tries = st.container()
    left, right = st.columns([1, 3], gap="large")
    with left:
        name = models.choose("decoder", default=MODEL, why_not=neurons_of_a_text.unfit)
    if name != MODEL:
        neurons_of_a_text.show(name, tries, left, right)
        return
    with tries:
        page.try_this(TRY)
    with left:
        layers, width = neuron_scan.load_neuron_scan(MODEL).value.shape[:2]
        layer = controls.place("Layer", "layer", layers, 3)
        neuron = controls.place("Neuron", "neuron", width, 462)
        either = "The activation of a gated neuron can have either sign; the two go with different inputs"
        with page.more_settings():
            side = controls.segmented("Activations", "side", list(SIDES), 0, SIDES, help=either)
    found = promotion(MODEL, MODEL, layer, neuron, side)
    with left:
        st.metric("Strongest activation", found.strongest)
        neurons_of_a_text.probability(found)
    with right:
        key, value = st.columns([3, 2], gap="medium")
    with key:
        active_texts(layer, neuron, side)
    with value:
        neurons_of_a_text.promoted(
            found,
            "What it writes there, as a change of logits: the tokens raised most and lowered most.",
            "what comes next in that text",
        )
    latest = page.Latest()
    own_text(layer, neuron, side, latest)
    page.what_to_see(
        "The marked tokens are those with the neuron's largest activations. The bars are its value vector, taken "
        "through the final norm and the unembedding: the tokens whose logits it raises or lowers directly. Where both "
        "fit, the neuron reads like a rule; the number at the left says how much the "
        "prediction depends on it alone. Later layers also read what a neuron writes, which the bars do not show."
    )
    page.question(
        "A feed-forward layer mixes no tokens. How can a neuron know that “named” was said just before?",
        "Through attention: before the feed-forward layer reads a token's vector, heads have added to it what they "
        "read from earlier tokens. The key of a neuron is compared with that sum.",
    )
    page.how_it_is_computed(
        latest,
        formula=(
            r"\mathrm{FF}(x) = \sum_{i=1}^{d_{ff}} \underbrace{a_i(x)}_{\text{key: how well } x \text{ fits}}\; "
            r"\underbrace{v_i}_{\text{value: column } i \text{ of } W_{down}}, \qquad "
            r"a_i = \mathrm{SiLU}(g_i \cdot x)\,(u_i \cdot x)"
        ),
        code=(neurons.promoted, neurons.neuron_effect, neuron_scan.scan_neurons),
        papers=(
            "Key-value memories: arXiv:2012.14913, equations 1 and 2, for plain layers; the stories model's are gated. "
            "The texts are excerpts of TinyStories' validation split (arXiv:2305.07759, CDLA-Sharing-1.0), found by "
            "one scan of 134,700 tokens that is kept beside the model; each is read again by the model when you look."
        ),
    )


def active_texts(layer: int, neuron: int, side: int) -> None:
    """The key: texts with the largest activations, shaded by the activation at each token."""
    st.markdown(
        f"**Key.** The largest activations of neuron {layer}.{neuron} in held-out stories; the stronger the colour, "
        "the larger."
    )
    tokenizer = cache.model(MODEL)[1]
    found = strongest_texts(MODEL, MODEL, layer, neuron, side)
    record = found[0].values[found[0].peak] or 1.0
    for rank, one in enumerate(found):
        first, last = max(0, one.peak - BEFORE), one.peak + AFTER
        values = one.values[first:last]
        text.chips(
            tokenizer.tokens(one.ids)[first:last],
            key=f"snippet {rank}",
            selected=one.peak - first,
            shade=(values / record).tolist(),
            titles=neuron_scan.activation_words(values),
            label=f"Text {rank + 1}: {one.largest} at the marked token",
        )


def own_text(layer: int, neuron: int, side: int, latest: page.Latest) -> None:
    """The neuron on a text of the visitor, and the neurons that are most active at one of its tokens."""
    st.subheader("On your own text", anchor=False)
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=80)
    if not pasted:
        st.info("There is no text yet: type or paste some above.")
        return
    used = first_tokens(MODEL, pasted, cache.model(MODEL)[0].config.max_seq_len)
    notices.tokens(used.total, len(used.ids))
    on_text(layer, neuron, side, pasted, latest)


@fragments.fragment
def on_text(layer: int, neuron: int, side: int, pasted: str, latest: page.Latest) -> None:
    """Coloured tokens, bars, and the neurons that are most active at one token."""
    reading = values, tokens = read(MODEL, pasted)
    own, scan = values[layer, :, neuron], neuron_scan.load_neuron_scan(MODEL)
    token = controls.place("Token", "token", len(tokens), 10)
    text.chips(
        tokens,
        key="chips",
        selected=token,
        shade=(own / scan.record(layer, neuron, side)).tolist(),
        label="Choose a token",
        titles=neuron_scan.activation_words(own),
        on_select=lambda i: controls.set_values(token=i),
    )
    along, beside = st.columns([3, 2], gap="medium")
    with along:
        shown = experiments.neuron(
            reading, promotion(MODEL, MODEL, layer, neuron, side), MODEL, layer, neuron, side, token
        )
        figure(
            shown.figure,
            key="text",
            height=330,
            min_width=520,
            table=lambda: pd.DataFrame({"token": tokens, "activation": own}),
            alt=shown.alt,
            caption=shown.alt,
        )
    with beside:
        found = neurons.most_active(values[:, token], scan.value[..., 0], 10)
        words = [promoted_tokens(MODEL, one.layer, one.neuron, one.side) for one in found]
        active = experiments.active(found, words, tokens[token], (layer, neuron, side))
        figure(
            active.figure,
            key="excited",
            height=330,
            on_click=choose_neuron,
            table=lambda: pd.DataFrame(found),
            alt=active.alt,
            caption=f"{active.caption} The bars name the tokens that each promotes. Click one to choose it.",
        )
    latest.offer(
        experiments.neuron,
        made(experiments.read, MODEL, pasted),
        made(neurons.promotion, MODEL, MODEL, layer, neuron, side),
        MODEL,
        layer,
        neuron,
        side,
        token,
    )
