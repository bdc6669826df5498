"""Paste a text, see the attention of every head of a trained model."""

from typing import Any

import streamlit as st

from pages.foundations.heads.choices import CHARACTERS, TEXT, TIRED, about_ids, tell_dropped
from pages.foundations.heads.compare import side_by_side
from pages.foundations.heads.every_head import every_head
from pages.foundations.heads.facts import FACTS
from pages.foundations.heads.why import why
from pages.ui import controls, fragments, in_your_text, page
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import choose_bos, say_nothing_read, text_box
from tfcore.input_checks import other_mixer
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.measures.heads.part_texts import longest_text
from tfcore.part_configs import Part
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.measure.attention import model_parts, read
from tfcore.views.foundations.heads.measure.head_splits import divisors, split_sizes, tokens_of_text
from tfcore.views.sources import Reading, opened

NONSENSE = "zab mip tol wex run fod zab mip tol wex run fod"
WIDE = "The animal didn't cross the street because it was too wide."
_IT = {"rank": "pair", "sort": "score"}
TRY: dict[str, dict[str, Any]] = {
    "induction": {"model": "stories", "text": TEXT, "layer": 3, "head": 0, "token": 25},
    "previous token": {"model": "stories", "text": TEXT, "layer": 1, "head": 1, "token": 25},
    "too tired": {
        "model": "minilm", "text": TIRED, "layer": 3, "head": 1, "token": 10, "from": 10, "to": 2, **_IT
    },
    "too wide": {
        "model": "minilm", "text": WIDE, "layer": 3, "head": 1, "token": 10, "from": 10, "to": 2, **_IT
    },
    "“it” → “animal”": {
        "model": "smollm2", "text": TIRED, "layer": 13, "head": 8, "token": 8, "from": 8, "to": 1, **_IT
    },
    "attention alone": {"model": "induction", "text": NONSENSE, "layer": 1, "head": 3, "token": 32},
    "an encoder": {"model": "fill", "text": TEXT, "layer": 1, "head": 1, "token": 25},
}  # fmt: skip
USUAL = {
    "show": "heads",
    "of": "head",
    "rank": "kind",
    "sort": "place",
    "kind": "all",
    "hide": False,
    "bos": "as usual",
}
SINK = (
    "The first token takes much of the weight in many models, whatever it is (an attention sink). Without it, and "
    "without the tokens that a tokenizer puts around a text, such as [CLS] and [SEP], the other weights of each row "
    "are divided by their sum."
)
LOG = "Colours by the logarithm of the weight: weights from 0.001 on can be told apart."
PARTS: dict[Part, str] = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}


def cuts(p: Panel, name: str, reading: Reading) -> None:
    """Show sizes of heads, and how heads share keys and values."""
    config = opened(name)[0].config
    if config.architecture != "decoder":
        st.info("This section takes apart a decoder; choose one of the decoders above, such as stories.")
        fragments.stop()
    said = other_mixer(config)
    if reason := why_no_head_matrices(config) if said is None else f"{said}, and what is cut here is in every layer.":
        st.info(f"The heads of this model cannot be cut anew: {reason}")
        fragments.stop()
    many = {"many small heads": {"n_heads": config.attention.n_heads * 4}} if config.head_size % 4 == 0 else {}
    p.examples({"one head": {"n_heads": 1}, **many, "as it was trained": {"n_heads": config.attention.n_heads}})
    left, right = st.columns([1, 3], gap="medium")
    with left:
        width = config.attention.n_heads * config.head_size
        n_heads = controls.select("Heads", "n_heads", divisors(width), config.attention.n_heads)
        layer = controls.place("Layer", "layer", config.n_layers, 3)
        tokens = len(tokens_of_text(name, reading.text))
        sizes = split_sizes(config, n_heads, tokens)
        st.metric("Dimensions of a head", str(sizes.d_head), help=f"{width} / {n_heads}")
        st.metric(
            "Parameters in W_Q, W_K, W_V",
            f"{sizes.parameters:,}",
            "the same for any cut",
            delta_color="off",
            delta_arrow="off",
        )
        st.metric("Attention weights per layer", f"{sizes.weights:,}", help=f"{n_heads} x {tokens}²")
    with right:
        p.show(views.product(name, reading.text, layer, n_heads))
        p.show(views.cuts(name, reading.text, layer, n_heads))
    st.subheader("Who shares keys and values: MHA, GQA, MQA", anchor=False)
    if (refusal := say.sharing_refusal(config)) is not None:
        st.info(refusal)
        merged = say.trained_sharing(config)
    else:
        shared = views.sharing(name, reading.text)
        p.show(shared)
        table = shared.numbers()
        numbers = {name: st.column_config.NumberColumn(format="localized") for name in table.columns[3:]}
        numbers[table.columns[2]] = st.column_config.NumberColumn(format="%.3f")
        st.dataframe(table, hide_index=True, column_config=numbers)
        p.show(views.shared_maps(name, reading.text, layer))
        merged = "Here the heads were merged without further training, and the table says what that does to the loss; "
        merged += "real models are trained with shared KV heads from the start, or further after merging."
    p.what_to_see(
        "With one head there is one map: the softmax of one score, the sum of the products of all heads. With many, "
        "each map comes from few dimensions; the caption says how large the weights are. Where g query heads share a "
        f"KV head, the KV cache is g times smaller. {merged}"
    )
    p.question(
        "Why does cutting one width into more heads cost no more parameters, but more memory for attention weights?",
        "W_Q, W_K and W_V are as wide as all heads together, however many those are. But each head has a map of its "
        "own, of tokens x tokens weights: twice the heads, twice the maps.",
    )


page.begin(FACTS)
box, choice = st.columns([4, 1], vertical_alignment="bottom")
with choice:
    name = models.choose(default="stories", reads="a head or a state")
with box:
    pasted = text_box(name, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
offer_real(name, pasted)
with panel(None) as p:
    hide_sink, log, bos, more = False, False, None, None
    parts = model_parts(name)
    with p.controls:
        section = controls.sections(FACTS.sections)
        *_, part = parts
        if "cross" in parts:
            part = controls.segmented("Attention of", "part", parts, part, PARTS, named=False)
        if section != "cuts":
            more = page.more_settings()
            with more:
                bos = choose_bos(name)
                if section != "why":
                    hide_sink = controls.toggle("Hide first token", "hide", help=SINK)
                    log = controls.toggle("Log scale", "log", help=LOG)
    if section == "heads":
        there = models.names()
        p.examples({label: USUAL | values for label, values in TRY.items() if values["model"] in there})
    if not pasted:
        st.info("There is no text yet: type or paste some above, or pick an example.")
        fragments.stop()
    reading = Reading(name, pasted, part, bos, hide_sink)
    if (attended := read(reading)) is None:
        say_nothing_read(
            name, pasted, "text", "The tokenizer of this model makes no token of this text: type something else."
        )
        fragments.stop()
    if said := about_ids(name, pasted):
        with p.picture:
            st.caption(said)
    tell_dropped(reading, attended)
    if section == "heads":
        with p.tries:
            in_your_text.above(pasted)
        every_head(p, reading, log, more)
    elif section == "why":
        why(p, reading, more)
    elif section == "compare":
        side_by_side(p, name, reading, log, more)
    else:
        cuts(p, name, reading)
if section == "heads":
    in_your_text.fill(reading, longest_text(opened(name)[0].config), in_your_text.in_heads, "link")
