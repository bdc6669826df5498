"""Choose who may look at whom, and see what that does to the attention of a trained model, and what leaks."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.masks import experiments
from pages.foundations.masks.facts import FACTS
from pages.foundations.masks.training import cheating
from pages.ui import cache, controls, fragments, head_links, notices, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.foundations.masks import (
    Leak,
    allowed_pairs,
    blocked_weight,
    leak_test,
    masked_outputs,
    replacement_for,
)
from tfcore.attention import attention_weights
from tfcore.figures.foundations import masks as figures
from tfcore.masks import FUNCTIONS, Kind, MaskConfig

CHARACTERS = 2_000
COLUMN = 13  # pixels of a token under the leak, at least
TOKENS = 64  # of the text that are used
LONG = 1_024  # tokens for which the pairs are counted as well
FREE = MaskConfig(kind="bidirectional")
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. "
    "One day the ball rolled away and Lily ran after it."
)
OTHER_MASK = "Why a head looks where it does can be opened under the mask that the model was trained with: {own}."
# kind: (name, what it is and who uses it, its own sliders)
MASKS: dict[Kind, tuple[str, str, list[str]]] = {
    "causal": (
        "causal",
        "Each token sees itself and what came before: GPT, LLaMA (arXiv:1706.03762, section 3.2.3).",
        [],
    ),
    "bidirectional": (
        "bidirectional",
        "No mask: every token sees every token, as in an encoder such as BERT (arXiv:1810.04805).",
        [],
    ),
    "prefix": (
        "prefix-LM",
        "Bidirectional within the prefix, causal after it (arXiv:1910.10683, figure 3).",
        ["prefix"],
    ),
    "padding": (
        "padding",
        "No token attends to padding, which only fills up a batch; it attends to itself: no row is empty.",
        ["padded"],
    ),
    "window": (
        "sliding window",
        "Causal, and at most so far back: Mistral 7B, 4,096 tokens (arXiv:2310.06825).",
        ["window"],
    ),
    "window_global": (
        "window + global",
        "A window, and first tokens that all attend to (after Longformer, arXiv:2004.05150).",
        ["window", "n_global"],
    ),
    "dilated": (
        "dilated",
        "A window with gaps: as cheap, but reaching further (after Longformer, arXiv:2004.05150).",
        ["window", "dilation"],
    ),
    "blocks": (
        "block-sparse",
        "Its own block, and earlier blocks at a stride (after Sparse Transformers, arXiv:1904.10509).",
        ["block", "stride"],
    ),
}
NAMES: dict[Kind, str] = {kind: name for kind, (name, _, _) in MASKS.items()}
# parameter: (label, lowest, highest, default)
SLIDERS = {
    "prefix": ("Prefix (tokens)", 0, TOKENS, 12),
    "padded": ("Padding tokens", 0, TOKENS, 6),
    "window": ("Window (tokens, itself included)", 1, 32, 6),
    "n_global": ("Global tokens at the start", 0, 8, 1),
    "dilation": ("Dilation (distance between tokens)", 1, 8, 3),
    "block": ("Block size (tokens)", 1, 16, 6),
    "stride": ("Stride: one of so many earlier blocks", 1, 8, 2),
}
TRY: dict[str, dict[str, Any]] = {
    "a decoder": {"kind": "causal"},
    "an encoder": {"kind": "bidirectional"},
    "a prefix-LM": {"kind": "prefix", "prefix": 20, "position": 15},
    "a short window": {"kind": "window", "window": 3},
    "an attention sink and a window": {"kind": "window_global", "window": 4, "n_global": 1},
    "padding": {"kind": "padding", "padded": 10, "and_causal": True},
}


attend = cache.of_model(max_entries=12)(experiments.attend)
pairs = cache.data(max_entries=64)(allowed_pairs)


@cache.shared(max_entries=6)
def unchanged(model: str, pasted: str, mask: MaskConfig) -> Any:
    """What the model says of the text as it is, which every position is compared with: 10 MB of smollm2."""
    return masked_outputs(cache.model(model)[0], first_tokens(model, pasted, TOKENS).ids, mask)


@cache.data(max_entries=256)
def leak(model: str, pasted: str, mask: MaskConfig, position: int) -> Leak:
    network, tokenizer = cache.model(model)
    ids = first_tokens(model, pasted, TOKENS).ids
    other = replacement_for(tokenizer.encode, ids[position])
    return leak_test(network, ids, mask, position, other, unchanged(model, pasted, mask))


def choose_mask(more: Any) -> MaskConfig:
    kind = controls.select("Mask", "kind", list(NAMES), "causal", NAMES)
    st.caption(MASKS[kind][1])
    values: dict[str, Any] = {}
    for key in MASKS[kind][2]:
        label, low, high, default = SLIDERS[key]
        values[key] = controls.slider(label, key, low, high, default)
    if kind == "padding":
        with more:
            values["padded_first"] = controls.toggle("Padding comes first", "padded_first")
        values["and_causal"] = controls.toggle("Causal as well", "and_causal")
    return MaskConfig(kind=kind, **values)


def pairs_table(matrix: Any, labels: list[str], value: str) -> pd.DataFrame:
    """A (query, key) matrix as rows."""
    rows = pd.DataFrame(matrix).stack().rename(value).rename_axis(["query", "key"]).reset_index()
    return rows.assign(query_token=[labels[i] for i in rows["query"]], key_token=[labels[i] for i in rows["key"]])


@fragments.fragment
def leak_section(model_name: str, pasted: str, config: MaskConfig, tokens: list[str], latest: page.Latest) -> None:
    """Change one token and measure the change of the outputs before it."""
    n = len(tokens)
    position = controls.slider("Position of the token to change", "position", 1, n - 1, min(20, n - 1))
    name = NAMES[config.kind]
    masked, free = (leak(model_name, pasted, mask, position) for mask in (config, FREE))
    tokenizer = cache.model(model_name)[1]
    (other,) = tokenizer.tokens(
        [replacement_for(tokenizer.encode, first_tokens(model_name, pasted, TOKENS).ids[position])]
    )
    shown = experiments.leak(masked, free, tokens, name)
    st.markdown(
        f"Token {position}, **{text.escape(text.visible(tokens[position]))}**, becomes "
        f"**{text.escape(text.visible(other))}**; the model runs on both texts, and all logits are compared."
    )
    for place, result, who in zip(st.columns(2), (masked, free), (f"mask: {name}", "no mask"), strict=True):
        place.metric(
            f"Largest difference before the changed token, {who}",
            result.before_text,
            result.verdict,
            delta_color="off",
            delta_arrow="off",
        )
    figure(
        shown.figure,
        key="leak",
        alt=shown.alt,
        height=360,
        min_width=max(350, 90 + COLUMN * n),
        caption=f"{shown.caption} Largest absolute difference of a logit at each of {n} positions; shaded: before the "
        "changed token.",
        table=lambda: pd.DataFrame({"token": tokens, name: masked.difference, "no mask": free.difference}),
    )
    text_tokens = made(experiments.first_tokens, model_name, pasted, TOKENS)
    with_mask, without = (
        made(experiments.leak_of, model_name, pasted, TOKENS, mask, position) for mask in (config, FREE)
    )
    latest.offer(experiments.leak, with_mask, without, text_tokens, name)


page.begin(FACTS)
page.try_this(TRY)
beside, picture = st.columns([2, 3], gap="large")
with beside:
    row, box, more = controls.text_row(), st.container(), page.more_settings()
    with box:
        config = choose_mask(more)
        model_name = models.choose("decoder", "encoder")
    pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=110, row=row)
    n_layers, n_heads = cache.model(model_name)[0].config.n_layers, cache.model(model_name)[0].config.n_heads
    with more:
        layer = controls.place("Layer", "layer", n_layers, 3)
        head = controls.place("Head", "head", n_heads, 5)
offer_real(model_name, pasted)
ids, tokens, total = first_tokens(model_name, pasted, TOKENS)
n, labels, name = len(ids), text.tick_labels(tokens), NAMES[config.kind]
notices.tokens(total, n)
if not ids:
    say_nothing_read(
        model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
    )
    fragments.stop()

attended = attend(model_name, pasted, TOKENS, config)
with picture:
    found = str(pairs(config, name, n, LONG))
    figure(
        figures.mask_figure(attended.allowed, labels, height=480),
        key="mask",
        alt=f"The mask {found}",
        height=480,
        min_width=420,
        caption=f"{found} Violet: allowed. Grey, hatched: blocked.",
        table=lambda: pairs_table(attended.allowed, tokens, "allowed"),
        cursor=True,
    )

shown = experiments.masked(attended, tokens, name, layer, head)
# Under another mask than its own the model has other scores than those that the page on heads takes apart.
own: Kind = "causal" if cache.model(model_name)[0].config.architecture == "decoder" else "bidirectional"
there = head_links.of_ids(model_name, ids, layer, head, pasted) if config.kind == own else None
for title, draw, values in (
    ("Scores", figures.masked_scores_figure, (attended.scores, attended.scores)),
    ("Weights", figures.masked_weights_figure, (attended.unmasked, attended.masked)),
):
    st.subheader(f"{title} of layer {layer}, head {head}", anchor=False)
    for place, masked in zip(st.columns(2, gap="medium"), (False, True), strict=True):
        when = "after the mask" if masked else "before the mask"
        finding = blocked_weight(attended, name, layer, head, masked=masked)
        weights = title == "Weights" and masked
        with place:
            figure(
                shown.figure if weights else draw(attended, layer, head, labels, 420, masked=masked),
                key=f"{title} {when}",
                alt=f"{title} of layer {layer}, head {head} {when}: {finding}",
                height=420,
                min_width=420,
                caption=head_links.caption(f"{title} {when}, (query, key) = ({n}, {n}): {finding}", there),
                on_click=head_links.on_cell(there, attended.masked[layer, head]),
                table=lambda m=values[masked][layer, head], v=f"{title} {when}": pairs_table(m, tokens, v),
                cursor=True,
            )
if there is not None:
    there.link_strongest(attended.masked[layer, head], tokens, tokens)
else:
    st.caption(OTHER_MASK.format(own=NAMES[own]))
page.what_to_see(
    "The mask sets blocked scores to minus infinity, the softmax makes their weights exactly 0, and the rest of each "
    "row grows until it sums to 1 again: under a causal mask the first token can only attend to itself, with weight "
    "1. The mask acts in every layer, so from layer 1 on it changes the scores themselves as well."
)

st.subheader("Leak test: does a later token change earlier outputs?", anchor=False)
latest = page.Latest()
if n > 1:
    leak_section(model_name, pasted, config, tokens, latest)
else:
    st.info("One token has nothing before it: the test needs at least two.")
page.what_to_see(
    "Under every causal mask the differences before the changed token are not small but exactly 0: the same bits. A "
    "prefix-LM leaks inside the prefix, on purpose, and a padding mask alone does not stop later tokens. A model "
    "trained to predict the next token through a leak could simply copy it: the section below trains one."
)
made_attention = made(experiments.attend, model_name, pasted, TOKENS, config)
made_tokens = made(experiments.first_tokens, model_name, pasted, TOKENS)
st.caption(
    "An encoder-decoder has three masks, one for each of its attentions: the page on heads shows them in the model "
    "`translate`, that on architectures side by side."
)
cheating()
page.question(
    "A prefix-LM lets the first tokens attend to later ones. Why is that no leak?",
    "Because the prefix is not predicted. It is given (a question, a text to translate); only what follows is "
    "predicted and counts in the loss, and there attention is causal. Change a token after the prefix and the test "
    "finds no leak; change one inside and it reaches the prefix before it.",
)
page.how_it_is_computed(
    page.experiment(experiments.masked, made_attention, made_tokens, name, layer, head),
    latest,
    formula=(
        r"A = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\quad "
        r"M_{ij} = 0 \text{ if } i \text{ may see } j,\ -\infty \text{ if not}"
    ),
    code=(FUNCTIONS[config.kind], attention_weights, leak_test),
    papers="The causal mask: Attention Is All You Need, arXiv:1706.03762, section 3.2.3.",
    terms=("attention mask", "causal mask", "bidirectional attention"),
)
