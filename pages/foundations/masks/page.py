"""Choose who may look at whom, and see what that does to the attention of a trained model, and what leaks."""

from contextlib import nullcontext
from typing import Any

import streamlit as st

from pages.foundations.masks.facts import FACTS
from pages.foundations.masks.without_mask import cheating
from pages.ui import cache, controls, fragments, head_links, notices, page, text
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.measures.mask_patterns import Kind, MaskConfig
from tfcore.views.foundations import masks as views
from tfcore.views.foundations.masks.say import NAMES

CHARACTERS = 2_000
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. "
    "One day the ball rolled away and Lily ran after it."
)
OTHER_MASK = "Why a head looks where it does can be opened under the mask that the model was trained with: {own}."
OF_HYBRIDS = (
    "This model is a hybrid: the layers offered are those that attend. What the others have, a state or a convolution, "
    "carries what came before from token to token, whatever the mask."
)
# kind: (what it is and who uses it, its own sliders)
MASKS: dict[Kind, tuple[str, list[str]]] = {
    "causal": ("Each token sees itself and what came before: GPT, LLaMA (arXiv:1706.03762, section 3.2.3).", []),
    "bidirectional": ("No mask: every token sees every token, as in an encoder such as BERT (arXiv:1810.04805).", []),
    "prefix": ("Bidirectional within the prefix, causal after it (arXiv:1910.10683, figure 3).", ["prefix"]),
    "padding": (
        "No token attends to padding, which only fills up a batch; it attends to itself: no row is empty.",
        ["padded"],
    ),
    "window": ("Causal, and at most so far back: Mistral 7B, 4,096 tokens (arXiv:2310.06825).", ["window"]),
    "window_global": (
        "A window, and first tokens that all attend to (after Longformer, arXiv:2004.05150).",
        ["window", "n_global"],
    ),
    "dilated": (
        "A window with gaps: as cheap, but reaching further (after Longformer, arXiv:2004.05150).",
        ["window", "dilation"],
    ),
    "blocks": (
        "Its own block, and earlier blocks at a stride (after Sparse Transformers, arXiv:1904.10509).",
        ["block", "stride"],
    ),
    "alternating": (
        "Windows, and one layer of so many that sees all: Gemma 2 (1 of 2), Gemma 3 (1 of 6), gpt-oss. The first "
        "tokens stay in sight, as sinks (StreamingLLM, arXiv:2309.17453).",
        ["window", "every", "n_global"],
    ),
}
IN_SIGHT = 2  # sliders of a mask; the others stand in More settings
# parameter: (label, lowest, highest, default)
SLIDERS = {
    "prefix": ("Prefix (tokens)", 0, views.TOKENS, 12),
    "padded": ("Padding tokens", 0, views.TOKENS, 6),
    "window": ("Window (tokens, itself included)", 1, 32, 6),
    "n_global": ("Global tokens at the start", 0, 8, 1),
    "dilation": ("Dilation (distance between tokens)", 1, 8, 3),
    "block": ("Block size (tokens)", 1, 16, 6),
    "stride": ("Stride: one of so many earlier blocks", 1, 8, 2),
    "every": ("One of so many layers sees all", 1, 8, 2),
}
TRY: dict[str, dict[str, Any]] = {
    "a decoder": {"kind": "causal"},
    "an encoder": {"kind": "bidirectional"},
    "a prefix-LM": {"kind": "prefix", "prefix": 20, "position": 15},
    "a short window": {"kind": "window", "window": 3},
    "an attention sink and a window": {"kind": "window_global", "window": 4, "n_global": 1},
    "alternating windows": {"kind": "alternating", "window": 4, "every": 2, "n_global": 1, "layer": 2},
    "padding": {"kind": "padding", "padded": 10, "and_causal": True},
}


def choose_mask(more: Any) -> MaskConfig:
    """The mask that the controls ask for; `more` is the container of More settings."""
    kind = controls.select("Mask", "kind", list(NAMES), "causal", NAMES)
    st.caption(MASKS[kind][0])
    values: dict[str, Any] = {}
    for key in MASKS[kind][1]:
        label, low, high, default = SLIDERS[key]
        with more if len(values) == IN_SIGHT else nullcontext():
            values[key] = controls.slider(label, key, low, high, default)
    if kind == "padding":
        with more:
            values["padded_first"] = controls.toggle("Padding comes first", "padded_first")
        values["and_causal"] = controls.toggle("Causal as well", "and_causal")
    return MaskConfig(kind=kind, **values)


@fragments.fragment
def leak_section(p: Panel, model_name: str, pasted: str, mask: MaskConfig, n: int) -> None:
    """Change one of n tokens and measure the change of the outputs before it."""
    position = controls.slider("Position of the token to change", "position", 1, n - 1, min(20, n - 1))
    shown = views.leak(model_name, pasted, mask, position)
    changed, other = (text.escape(text.visible(token)) for token in (shown.result.changed, shown.result.replacement))
    st.markdown(
        f"Token {position}, **{changed}**, becomes **{other}**; the model runs on both texts, and all logits are "
        "compared."
    )
    p.show(shown)


page.begin(FACTS)
with panel((2, 3)) as p:
    p.examples(TRY)
    with p.controls:
        row, box, more = controls.text_row(), st.container(), page.more_settings()
        with box:
            mask = choose_mask(more)
            model_name = models.choose("decoder", "encoder", reads="a head")
        pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=110, row=row, end="first")
        config = cache.model(model_name)[0].config
        with more:
            layer = controls.layer_among(config.attention_layers, 3)
            head = controls.place("Head", "head", config.attention.n_heads, 5)
    offer_real(model_name, pasted)
    ids, tokens, total = first_tokens(model_name, pasted, views.TOKENS)
    notices.tokens(total, len(ids), which="first")
    if not ids:
        say_nothing_read(
            model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
        )
        fragments.stop()
    with p.picture:
        p.show(views.allowed(model_name, pasted, mask, layer))
    given = model_name, pasted, mask, layer, head
    used = views.masked_weights(*given)
    maps = {"Scores": (views.scores(*given), views.masked_scores(*given)), "Weights": (views.weights(*given), used)}
    # Under another mask than its own the model has other scores than those that the page on heads takes apart.
    own: Kind = "causal" if config.architecture == "decoder" else "bidirectional"
    there = head_links.of_ids(model_name, ids, layer, head, pasted) if mask.kind == own else None
    for title, both in maps.items():
        st.subheader(f"{title} of layer {layer}, head {head}", anchor=False)
        for place, one in zip(st.columns(2, gap="medium"), both, strict=True):
            with place:
                p.show(one, head_links.on_cell(there, used.result), "" if there is None else head_links.CLICK)
    if there is not None:
        there.link_strongest(used.result, tokens, tokens)
    else:
        st.caption(OTHER_MASK.format(own=NAMES[own]))
    if config.mixer is not None:
        st.caption(OF_HYBRIDS)
    p.what_to_see(
        "The mask sets blocked scores to minus infinity, the softmax makes their weights exactly 0, and the rest of "
        "each row grows until it sums to 1 again: under a causal mask the first token can only attend to itself, with "
        "weight 1. The mask acts in every layer that attends, so above the first of them it changes the scores "
        "themselves as well."
    )
st.subheader("Leak test: does a later token change earlier outputs?", anchor=False)
with panel(None) as p:
    if len(ids) > 1:
        leak_section(p, model_name, pasted, mask, len(ids))
    else:
        st.info("One token has nothing before it: the test needs at least two.")
    p.what_to_see(
        "Under every causal mask the differences before the changed token are not small but exactly 0: the same bits. "
        "A prefix-LM leaks inside the prefix, on purpose, and a padding mask alone does not stop later tokens. A model "
        "trained to predict the next token through a leak could simply copy it: the section below trains one."
    )
    p.question(
        "A prefix-LM lets the first tokens attend to later ones. Why is that no leak?",
        "Because the prefix is not predicted. It is given (a question, a text to translate); only what follows is "
        "predicted and counts in the loss, and there attention is causal. Change a token after the prefix and the test "
        "finds no leak; change one inside and it reaches the prefix before it.",
    )
st.caption(
    "An encoder-decoder has three masks, one for each of its attentions: the page on heads shows them in the model "
    "`translate`, that on architectures side by side."
)
cheating()
