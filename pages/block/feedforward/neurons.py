"""Part of the page on the feed-forward layer: one neuron, its key and its value, in the model that has a scan."""

import streamlit as st

from pages.block.feedforward import neurons_of_a_text
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.reading import last_tokens
from tfcore.measures import neuron_scan
from tfcore.views.block import feedforward as views
from tfcore.views.block.feedforward.neurons import activations_of, strongest_of

MODEL = "stories"
CHARACTERS = 2_000
BEFORE = 22  # tokens of a snippet shown before its peak
AFTER = 6  # and from it on
TEXT = (
    "Tom gave Lily a big red kite. “Thank you, Tom!” she said. “Let's fly it.” It was an old kite. They ran for a long "
    "time and didn't stop. Then Tom met a girl named Sue."
)
SIDES = {0: "largest", 1: "smallest"}


def choose_neuron(event: Event) -> None:
    match event["customdata"]:
        case [int(layer), int(neuron), int(side)]:
            controls.set_values(layer=layer, neuron=neuron, side=side)


def show() -> None:
    """Show the section."""
    with panel() as p:
        with p.controls:
            name = models.choose("decoder", default=MODEL, why_not=neurons_of_a_text.unfit, reads="the stream")
        if name == MODEL:
            scanned(p)
        else:
            neurons_of_a_text.show(p, name)


def scanned(p: Panel) -> None:
    """A neuron of the model that has a scan."""
    p.examples(
        {
            "Thank → you": {"layer": 3, "neuron": 462, "side": 0},
            "an → a vowel": {"layer": 3, "neuron": 18, "side": 1},
            "named → a name": {"layer": 2, "neuron": 294, "side": 0},
            "an opening quote": {"layer": 1, "neuron": 63, "side": 1},
            "the end of a sentence": {"layer": 2, "neuron": 264, "side": 0},
            "long → time": {"layer": 2, "neuron": 206, "side": 1},
            "one that is hard to read": {"layer": 0, "neuron": 100, "side": 0},
        }
    )
    with p.controls:
        layers, width = neuron_scan.load_neuron_scan(MODEL).value.shape[:2]
        layer = controls.place("Layer", "layer", layers, 3)
        neuron = controls.place("Neuron", "neuron", width, 462)
        either = "The activation of a gated neuron can have either sign; the two go with different inputs"
        with page.more_settings():
            side = controls.segmented("Activations", "side", list(SIDES), 0, SIDES, help=either)
        shown = views.value(MODEL, layer, neuron, side)
        st.metric("Strongest activation", f"{shown.result.activation:.2f}")
        neurons_of_a_text.probability(shown.result)
    with p.picture:
        key, value = st.columns([3, 2], gap="medium")
        with key:
            active_texts(layer, neuron, side)
        with value:
            st.markdown(
                "**Value.** What it writes there, as a change of logits: the tokens raised most and lowered most."
            )
            p.show(shown)
    own_text(p, layer, neuron, side)
    p.what_to_see(
        "The marked tokens are those with the neuron's largest activations. The bars are its value vector, taken "
        "through the final norm and the unembedding: the tokens whose logits it raises or lowers directly. Where both "
        "fit, the neuron reads like a rule; the number at the left says how much the "
        "prediction depends on it alone. Later layers also read what a neuron writes, which the bars do not show."
    )
    p.question(
        "A feed-forward layer mixes no tokens. How can a neuron know that “named” was said just before?",
        "Through attention: before the feed-forward layer reads a token's vector, heads have added to it what they "
        "read from earlier tokens. The key of a neuron is compared with that sum.",
    )


def active_texts(layer: int, neuron: int, side: int) -> None:
    """The key: texts with the largest activations, shaded by the activation at each token."""
    st.markdown(
        f"**Key.** The largest activations of neuron {layer}.{neuron} in held-out stories; the stronger the colour, "
        "the larger."
    )
    tokenizer = cache.model(MODEL)[1]
    strongest = strongest_of(MODEL, MODEL, layer, neuron, side)
    record = strongest[0].values[strongest[0].peak] or 1.0
    for rank, one in enumerate(strongest):
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


def own_text(p: Panel, layer: int, neuron: int, side: int) -> None:
    """The neuron on a text of the visitor, and the neurons that are most active at one of its tokens."""
    st.subheader("On your own text", anchor=False)
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=80, end="last")
    if not pasted:
        st.info("There is no text yet: type or paste some above.")
        return
    used = last_tokens(MODEL, pasted, cache.model(MODEL)[0].config.max_seq_len)
    notices.tokens(used.total, len(used.ids))
    on_text(p, layer, neuron, side, pasted)


@fragments.fragment
def on_text(p: Panel, layer: int, neuron: int, side: int, pasted: str) -> None:
    """Coloured tokens, bars, and the neurons that are most active at one token."""
    values, tokens = activations_of(MODEL, pasted)
    own = values[layer, :, neuron]
    token = controls.place("Token", "token", len(tokens), 10, of=tuple(tokens))
    text.chips(
        tokens,
        key="chips",
        selected=token,
        shade=(own / neuron_scan.load_neuron_scan(MODEL).record(layer, neuron, side)).tolist(),
        label="Choose a token",
        titles=neuron_scan.activation_words(own),
        on_select=lambda i: controls.set_values(token=i),
    )
    along, beside = st.columns([3, 2], gap="medium")
    with along:
        p.show(views.on_text(MODEL, pasted, layer, neuron, side, token))
    with beside:
        active = views.most_active(MODEL, pasted, layer, neuron, side, token)
        p.show(active, choose_neuron, "Click one to choose it.")
