"""Panel of the page on the feed-forward layer: one neuron of the shipped model, its key and its value."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.block.feedforward import experiments as experiments
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.reading import first_tokens
from tfcore.analysis.block import neuron_scan, neurons
from tfcore.figures.block import neurons as figures

MODEL, CHARACTERS, SHOWN = "stories", 2_000, 8
BEFORE, AFTER = 22, 6  # tokens of a snippet shown around its peak
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


@st.cache_resource(max_entries=1, show_spinner=False)
def kept() -> neuron_scan.NeuronScan:
    return neuron_scan.load_scan(MODEL)


@cache.data(max_entries=128)
def key_of(layer: int, neuron: int, side: int) -> list[neurons.Snippet]:
    return neurons.snippets(cache.model(MODEL)[0], kept(), layer, neuron, side)


@cache.data(max_entries=128)
def value_of(layer: int, neuron: int, side: int) -> tuple[neurons.Effect, list[int], list[str], str | None]:
    """What the neuron does at its strongest text: the effect, the tokens most lifted and lowered, and the next one."""
    model, tokenizer = cache.model(MODEL)
    found = neurons.effect(model, layer, neuron, key_of(layer, neuron, side)[0])
    order = np.argsort(-found.lift, kind="stable")
    ids = [*order[:SHOWN].tolist(), *order[-SHOWN // 2 :].tolist()]
    following = None if found.followed is None else tokenizer.tokens([found.followed])[0]
    return found, ids, tokenizer.tokens(ids), following


@cache.data(max_entries=8)
def read(pasted: str) -> tuple[np.ndarray, list[str], int]:
    """Every neuron at every token of a text, the tokens, and how many there are in all."""
    model = cache.model(MODEL)[0]
    ids, tokens, total = first_tokens(MODEL, pasted, model.config.max_seq_len)
    return neurons.text_activations(model, ids), tokens, total


@cache.data(max_entries=64)
def promotes(layer: int, neuron: int, side: int, count: int = 5) -> str:
    """The tokens a neuron promotes most, in a row."""
    model, tokenizer = cache.model(MODEL)
    lift = neurons.promoted(model, layer, neuron).cpu().numpy() * (1 if side == 0 else -1)
    return " ".join(text.label(token) for token in tokenizer.tokens(np.argsort(-lift)[:count].tolist()))


def choose_neuron(event: Event) -> None:
    match event["customdata"]:
        case [int(layer), int(neuron), int(side)]:
            controls.set_values(layer=layer, neuron=neuron, side=side)


def show() -> None:
    """The panel."""
    st.latex(
        r"\mathrm{FF}(x) = \sum_{i=1}^{d_{ff}} \underbrace{a_i(x)}_{\text{key: how well } x \text{ fits}}\; "
        r"\underbrace{v_i}_{\text{value: column } i \text{ of } W_{down}}, \qquad "
        r"a_i = \mathrm{SiLU}(g_i \cdot x)\,(u_i \cdot x)"
    )
    page.try_this(TRY)
    models.only(MODEL, "the texts with the largest activations were found by a scan, made for this model alone.")
    left, right = st.columns([1, 3], gap="large")
    with left:
        layers, width = kept().value.shape[:2]
        layer = controls.slider("Layer", "layer", 0, layers - 1, 3)
        neuron = controls.slider("Neuron", "neuron", 0, width - 1, 462)
        either = "The activation of a gated neuron can have either sign; the two go with different inputs"
        side = controls.segmented("Activations", "side", list(SIDES), 0, SIDES, help=either)
    found, ids, tokens, following = value_of(layer, neuron, side)
    with left:
        st.metric("Strongest activation", f"{found.activation:.2f}")
        if following is not None:
            change = f"{found.without_it:.1%} without this neuron (zero ablation)"
            st.metric(
                f"Probability of “{text.escape(text.visible(following))}” there",
                f"{found.with_it:.1%}",
                change,
                delta_color="off",
                delta_arrow="off",
            )
    with right:
        excited_by(layer, neuron, side)
        promoted(layer, neuron, found, ids, tokens, following)
    own_text(layer, neuron, side)
    page.what_to_see(
        "The marked tokens are those with the neuron's largest activations. The bars are its value vector, taken "
        "through the final norm and the unembedding: the tokens whose logits it raises or lowers directly. Where both "
        "fit, as after “Thank” and “you”, the neuron reads like a rule; the number at the left says how much the "
        "prediction depends on it alone. Later layers also read what a neuron writes, which the bars do not show."
    )
    page.source(neurons.promoted, neurons.effect, neuron_scan.scan)
    st.caption(
        "Key-value memories: arXiv:2012.14913, equations 1 and 2, for plain layers; the stories model's are gated. The "
        "texts are excerpts of TinyStories' validation split (arXiv:2305.07759, CDLA-Sharing-1.0), found by one scan "
        "of 134,700 tokens that is kept beside the model; each is read again by the model when you look."
    )
    page.question(
        "A feed-forward layer mixes no tokens. How can a neuron know that “named” was said just before?",
        "Through attention: before the feed-forward layer reads a token's vector, heads have added to it what they "
        "read from earlier tokens. The key of a neuron is compared with that sum.",
    )


def excited_by(layer: int, neuron: int, side: int) -> None:
    """The key: texts with the strongest activation, shaded by the activation at each token."""
    st.markdown(
        f"**Key.** The largest activations of neuron {layer}.{neuron} in held-out stories; the stronger the colour, "
        "the larger."
    )
    tokenizer = cache.model(MODEL)[1]
    found = key_of(layer, neuron, side)
    record = found[0].values[found[0].peak] or 1.0
    for rank, one in enumerate(found):
        first, last = max(0, one.peak - BEFORE), one.peak + AFTER
        values = one.values[first:last]
        text.chips(
            tokenizer.tokens(one.ids)[first:last],
            key=f"snippet {rank}",
            selected=one.peak - first,
            shade=(values / record).tolist(),
            titles=[f"activation {value:.2f}" for value in values],
            label=f"Text {rank + 1}: activation {one.values[one.peak]:.2f} at the marked token",
        )


def promoted(
    layer: int, neuron: int, found: neurons.Effect, ids: list[int], tokens: list[str], following: str | None
) -> None:
    """The value: the tokens it lifts and lowers."""
    labels, lift = text.tick_labels(tokens), [float(found.lift[i]) for i in ids]
    st.markdown("**Value.** What it writes there, as a change of logits: the tokens raised most and lowered most.")
    figure(
        figures.promoted_figure(labels, lift, None if following is None else text.label(following, 12), 330),
        key="value",
        height=330,
        table=lambda: pd.DataFrame({"token": tokens, "logits": lift}),
        alt=f"Neuron {layer}.{neuron} lifts "
        + ", ".join(f"{text.visible(token)} by {change:.2f}" for token, change in zip(tokens[:4], lift, strict=False))
        + f" logits where its activation is {found.activation:.2f}.",
        caption=f"Shape (192) → (2,048): column {neuron} of W_down in layer {layer}, through the final norm and the "
        f"unembedding, times its activation {found.activation:.2f}. ◂ marks what comes next in that text.",
    )


def own_text(layer: int, neuron: int, side: int) -> None:
    """The neuron on a text of the visitor, and the neurons that a token of it excites."""
    st.subheader("On your own text", anchor=False)
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=80)
    if not pasted:
        st.info("There is no text yet: type or paste some above.")
        return
    values, tokens, total = read(pasted)
    notices.tokens(total, len(tokens))
    on_text(values, tokens, layer, neuron, side, pasted)


@fragments.fragment
def on_text(values: np.ndarray, tokens: list[str], layer: int, neuron: int, side: int, pasted: str) -> None:
    """Coloured tokens, bars, and for one token the neurons it excites most."""
    mine, n = values[layer, :, neuron], len(tokens)
    records = kept().value[..., 0]
    record = float(records[layer, neuron, side]) or 1.0
    token = controls.slider("Token", "token", 0, n - 1, min(10, n - 1))
    text.chips(
        tokens,
        key="chips",
        selected=token,
        shade=(mine / record).tolist(),
        label="Choose a token",
        titles=[f"activation {value:.2f}" for value in mine],
        on_select=lambda i: controls.set_values(token=i),
    )
    labels, strongest = text.tick_labels(tokens), int((mine / record).argmax())
    finding = (
        f"neuron {layer}.{neuron} is most active at '{text.visible(tokens[strongest])}', with {mine[strongest]:.2f}"
    )
    along, beside = st.columns([3, 2], gap="medium")
    with along:
        figure(
            figures.text_figure(mine, labels, token, record, 330),
            key="text",
            height=330,
            min_width=520,
            table=lambda: pd.DataFrame({"token": tokens, "activation": mine}),
            alt=f"Activation along the text: {finding}; its record is {record:.2f}.",
            caption=f"On this text {finding}, {mine[strongest] / record:.0%} of its record. {n} tokens.",
        )
    with beside:
        found = neurons.most_excited(values[:, token], records, 10)
        words = [promotes(one.layer, one.neuron, one.side) for one in found]
        figure(
            figures.excited_figure(found, words, (layer, neuron, side), 330),
            key="excited",
            height=330,
            on_click=choose_neuron,
            table=lambda: pd.DataFrame(found),
            alt=f"Neurons most active at '{text.visible(tokens[token])}': "
            + ", ".join(f"{one.layer}.{one.neuron} at {one.share:.0%} of its record" for one in found[:4]),
            caption=f"The neurons most active at '{text.visible(tokens[token])}', relative to their largest "
            "activation, and the tokens they promote. Click one to choose it.",
        )
    page.experiment(experiments.neuron, MODEL, layer, neuron, side, pasted, token)
