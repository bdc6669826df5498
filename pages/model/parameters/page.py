"""Where the parameters of a model are, what they cost, and whether the rule of thumb is right."""

import streamlit as st

from pages.model.parameters.choices import OWN, by_sliders
from pages.model.parameters.facts import FACTS
from pages.ui import controls, fragments, page
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.loading.presets import all_names, known
from tfcore.measures.precision import Dtype
from tfcore.views.model import parameters as views
from tfcore.views.model.parameters.draw import Way
from tfcore.views.model.parameters.measure import published_sizes

WAYS: dict[Way, str] = {"ring": "shares", "treemap": "tree", "blocks": "blocks"}
DTYPES: dict[Dtype, str] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
NONE = "none"

page.begin(FACTS)
names = all_names()
with panel() as p:
    p.examples(
        {
            "117 M?": {"model": "gpt2_small"},
            "175 billion": {"model": "gpt3_175b"},
            "mostly embeddings": {
                "model": OWN,
                "d_model": 256,
                "n_layers": 4,
                "n_heads": 4,
                "d_ff": 1_024,
                "vocab": 50_257,
            },
            "46.7 B, 12.9 B active": {"model": "mixtral_8x7b", "view": "ring"},
            "116.8 B, 5.1 B active": {"model": "gpt_oss_120b", "view": "ring"},
            "LLaMA 2 against 3": {"model": "llama3_8b", "versus": "llama2_7b"},
            "12 heads in 832": {"model": OWN, "d_model": 832, "n_heads": 12},
        }
    )
    with p.controls:
        chosen = models.choose(default="gpt2_small", options={**names, OWN: "your own, by sliders"}, reads="the stream")
        given, more = st.container(), page.more_settings()
        with given:
            config = by_sliders(more) if chosen == OWN else known(chosen)
        with more if chosen == OWN else given:
            way = controls.segmented("Show", "view", list(WAYS), "ring", WAYS)
            versus = controls.select("Compare with", "versus", [NONE, *names], NONE, {NONE: "nothing", **names})
        with more:
            batch = controls.slider("Batch size", "batch", 1, 256, 1)
            seq = controls.slider("Sequence length (tokens)", "seq", 16, 32_768, 1_024, 16)
            dtype = controls.segmented("Data type", "dtype", list(DTYPES), "bfloat16", DTYPES)
    if config is None:
        fragments.stop()
    label = "your own" if chosen == OWN else names.get(chosen, chosen)
    configs = {label: config} | ({names[versus]: known(versus)} if versus != NONE else {})
    with p.picture:
        picture, numbers = st.columns([5, 2], gap="medium")
        with numbers:
            for one in views.numbers(config, seq):
                st.metric(one.label, one.value, one.note, delta_color="off", delta_arrow="off")
            if (sizes := published_sizes(config)) is not None:
                st.caption(sizes.sentence)
        with picture:
            p.show(views.counted(config, label, way))
        memory = views.memory(configs, batch, seq, dtype)
        p.show(memory)
        if versus != NONE:
            st.dataframe(views.side_by_side(memory.result))
    if controls.toggle("Count again by building it, on no memory at all", "build"):
        st.markdown(str(views.built_again(config)))
    p.what_to_see(
        "The formula knows no GQA, no third matrix of a gate, no experts: see how far off it is for each model, and "
        "why. GPT-2's report gives 117 M parameters for its smallest model; the published weights hold 124.4 M. In a "
        "mixture of experts only the active parameters take part in the computation of a token, but all of them take "
        "memory. FLOPs are those of all matrix products, three times as many in training as in the forward pass; the "
        "rule 6 N leaves out the products of attention and the unembedding."
    )
    p.question(
        "Twelve layers of width 768 with a vocabulary of 50,257: how many parameters, roughly, without a computer?",
        "12 x 12 x 768² is 85 M for the blocks, and 50,257 x 768 is 39 M for the table: 124 M. That is GPT-2 small; "
        "positions, norms and biases add less than one percent.",
    )

st.subheader("All presets", anchor=False)
st.dataframe(
    views.every_preset(),
    hide_index=True,
    height=320,
    column_config={
        "parameters": st.column_config.NumberColumn(format="localized"),
        "active": st.column_config.NumberColumn(format="localized"),
        "12 N d² + V d": st.column_config.NumberColumn(format="localized"),
        "error": st.column_config.NumberColumn(format="percent"),
        "GFLOPs per token": st.column_config.NumberColumn(format="%.2f"),
        "weights in bf16 (GB)": st.column_config.NumberColumn(format="%.2f"),
    },
)
st.caption(
    "FLOPs: at a sequence length of 1,024 tokens, or the model's context where that is less. KV cache in 16 bits; an "
    "encoder has none, and of an encoder-decoder it is the decoder's own, without the keys and values of "
    "cross-attention. BERT is counted with its masked language model's head, without the pooler and the head for "
    "next-sentence prediction that reads it."
)
