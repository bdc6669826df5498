"""Where the parameters of a model are, what they cost, and whether the rule of thumb is right."""

import pandas as pd
import streamlit as st

from pages.model.parameters import experiments as experiments
from pages.model.parameters.choice import OWN, by_sliders
from pages.model.parameters.costs import built, compared, every_preset
from pages.model.parameters.facts import FACTS
from pages.ui import controls, fragments, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.loading.presets import all_names, known
from pages.ui.program import made
from tfcore.analysis.model import costs
from tfcore.analysis.model.costs import BuiltAgain, ModelCosts, cost_row, parameters_found
from tfcore.analysis.model.published_sizes import published_sizes
from tfcore.config import ModelConfig
from tfcore.figures.model import parameters as figures
from tfcore.figures.model.parameters import View
from tfcore.measures.parameter_count import parameters, rule_of_thumb
from tfcore.measures.precision import Dtype
from tfcore.measures.quantities import short, whole

VIEWS: dict[View, str] = {"ring": "shares", "treemap": "tree", "blocks": "blocks"}
DTYPES: dict[Dtype, str] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
NONE = "none"


def facts(config: ModelConfig, name: str, costs: ModelCosts) -> None:
    """The numbers beside the picture."""
    found = parameters_found(name, costs)
    metric("Parameters", short(found.total), whole(found.total))
    if found.active != found.total:
        metric("Active per token", short(found.active), f"{whole(found.active)}: {found.active_share}")
    metric("12 N d² + V d", short(found.formula), found.formula_error)
    other = "untied" if config.tie_embeddings else "tied"
    st.metric(f"Unembedding {other}", short(costs.other_tying))
    metric("FLOPs per token", short(costs.flops.forward), f"in training: {short(costs.flops.training)}")
    if (sizes := published_sizes(config)) is not None:
        st.caption(sizes.sentence)


def metric(label: str, value: str, note: str) -> None:
    st.metric(label, value, note, delta_color="off", delta_arrow="off")


page.begin(FACTS)
names = all_names()
page.try_this(
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
        "LLaMA 2 against 3": {"model": "llama3_8b", "versus": "llama2_7b"},
        "12 heads in 832": {"model": OWN, "d_model": 832, "n_heads": 12},
    }
)
left, right = st.columns([1, 3], gap="medium")
with left:
    listed = {**names, OWN: "your own, by sliders"}
    chosen = models.choose(default="gpt2_small", options=listed)
    given, more = st.container(), page.more_settings()
    with given:
        config = by_sliders(more) if chosen == OWN else known(chosen)
    with more if chosen == OWN else given:
        view = controls.segmented("Show", "view", list(VIEWS), "ring", VIEWS)
        versus = controls.select("Compare with", "versus", [NONE, *names], NONE, {NONE: "nothing", **names})
    with more:
        batch = controls.slider("Batch size", "batch", 1, 256, 1)
        seq = controls.slider("Sequence length (tokens)", "seq", 16, 32_768, 1_024, 16)
        dtype = controls.segmented("Data type", "dtype", list(DTYPES), "bfloat16", DTYPES)
if config is None:
    fragments.stop()
label = "your own" if chosen == OWN else names.get(chosen, chosen)
configs = {label: config} | ({names[versus]: known(versus)} if versus != NONE else {})
found = compared(configs, batch, seq, dtype)
parts = experiments.counted(found, view)
with right:
    picture, numbers = st.columns([5, 2], gap="medium")
    with numbers:
        facts(config, label, found[label])
    with picture:
        figure(
            parts.figure,
            key="parts",
            height=parts.figure.layout.height,
            min_width=350,
            alt=parts.alt,
            caption=parts.caption,
            table=lambda: pd.DataFrame(found[label].count.by_component.items(), columns=["component", "parameters"]),
        )
    memory = experiments.memory(found, batch, seq, dtype)
    figure(
        memory.figure,
        key="memory",
        height=156 + 44 * len(found),
        min_width=350,
        alt=memory.alt,
        caption=memory.caption,
        table=lambda: pd.DataFrame({name: figures.bytes_of(one.memory, "train") for name, one in found.items()}),
    )
    if versus != NONE:
        st.dataframe(pd.DataFrame({name: cost_row(one) for name, one in found.items()}))
if controls.toggle("Count again by building it, on no memory at all", "build"):
    st.markdown(BuiltAgain(built(config), found[label].count.total).sentence)
page.what_to_see(
    "The formula knows no GQA, no third matrix of a gate, no experts: see how far off it is for each model, and why. "
    "GPT-2's report gives 117 M parameters for its smallest model; the published weights hold 124.4 M. In a mixture of "
    "experts only the active parameters take part in the computation of a token, but all of them take memory. FLOPs "
    "are those of all matrix products, three times as many in training as in the forward pass; the rule 6 N leaves out "
    "the products of attention and the unembedding."
)
st.subheader("All presets", anchor=False)
st.dataframe(
    every_preset(),
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
given = made(costs.compared, configs, batch, seq, dtype)
page.question(
    "Twelve layers of width 768 with a vocabulary of 50,257: how many parameters, roughly, without a computer?",
    "12 x 12 x 768² is 85 M for the blocks, and 50,257 x 768 is 39 M for the table: 124 M. That is GPT-2 small; "
    "positions, norms and biases add less than one percent.",
)
page.how_it_is_computed(
    page.experiment_of("The picture of the parameters", experiments.counted, given, view),
    page.experiment_of("The picture of the memory", experiments.memory, given, batch, seq, dtype),
    formula=r"P \approx 12\,N d^2 + V d",
    code=(parameters, rule_of_thumb),
    papers=(
        "N and 6 N: arXiv:2001.08361, table 1 and section 2.1. Memory in training: arXiv:1910.02054, section 3.1. "
        "Sizes of published models: their papers and weights, see tfcore.presets."
    ),
    terms=("FLOPs", "KV cache", "mixture of experts"),
)
