"""Where the parameters of a model are, what they cost, and whether the rule of thumb is right."""

import pandas as pd
import streamlit as st

from pages.model.parameters import experiments as experiments
from pages.model.parameters.choice import OWN, by_sliders
from pages.model.parameters.costs import built, costs, every_preset
from pages.ui import controls, fragments, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.loading.presets import all_names, known
from tfcore.analysis.model.costs import ModelCosts
from tfcore.analysis.model.parameter_count import parameters, published_sizes, rule_of_thumb
from tfcore.analysis.precision import Dtype
from tfcore.config import ModelConfig
from tfcore.figures.byte_words import amount
from tfcore.figures.model import parameters as figures
from tfcore.figures.model.parameters import short

VIEWS = {"ring": "shares", "treemap": "tree", "blocks": "blocks"}
DTYPES: dict[Dtype, str] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
NONE = "none"


def facts(config: ModelConfig, found: ModelCosts) -> None:
    """The numbers beside the picture."""
    st.metric("Parameters", f"{found.count.total:,}", short(found.count.total), delta_color="off", delta_arrow="off")
    if found.count.active != found.count.total:
        share = f"{found.count.active / found.count.total:.0%} of all"
        st.metric("Active per token", f"{found.count.active:,}", share, delta_color="off", delta_arrow="off")
    st.metric(
        "12 N d² + V d says",
        f"{found.formula:,}",
        f"{found.formula_error:+.1%} off",
        delta_color="off",
        delta_arrow="off",
    )
    other = "untied" if config.tie_embeddings else "tied"
    st.metric(f"Unembedding {other}", short(found.other_tying))
    st.metric(
        "FLOPs per token, forward",
        short(found.flops.forward),
        f"6 N in training: {short(found.flops.six_n)}",
        delta_color="off",
        delta_arrow="off",
    )
    if said := quoted(config, found):
        st.caption(said)


def quoted(config: ModelConfig, found: ModelCosts) -> str:
    """The sizes quoted of a masked language model, where the count here is neither of them."""
    sizes, parts = published_sizes(config), found.count.by_component
    if sizes is None:
        return ""
    pooler = f", the pooler's {parts['pooler']:,} among them" if "pooler" in parts else ""
    said = f"Without the masked language model's head ({parts['mlm head']:,}): {sizes.without_heads:,}{pooler}."
    if sizes.next_sentence:
        said += f" The published checkpoint has a head for next-sentence prediction too ({sizes.next_sentence:,}): "
        said += f"{sizes.checkpoint:,}."
    return said


def most(name: str, found: ModelCosts, asked: int) -> str:
    """A sentence where a text was cut to what the model can read."""
    return f" {name} reads {found.seq:,} at most." if found.seq < asked else ""


page.begin(
    "Where are the parameters?",
    "In the matrices: two thirds of a block with d_ff = 4 d are feed-forward, one third attention, and the narrower a "
    "model, the larger the share of its embedding table. Count any model, exactly, without building it.",
    r"P \approx 12\,N d^2 + V d",
)
names = all_names()
left, right = st.columns([1, 3], gap="medium")
with left:
    listed = {**names, OWN: "your own, by sliders"}
    chosen = models.choose(default="gpt2_small", options=listed)
    config = by_sliders() if chosen == OWN else known(chosen)
    view = controls.segmented("Show", "view", list(VIEWS), "ring", VIEWS)
    batch = controls.slider("Batch size", "batch", 1, 256, 1)
    seq = controls.slider("Sequence length (tokens)", "seq", 16, 32_768, 1_024, 16)
    dtype = controls.segmented("Data type", "dtype", list(DTYPES), "bfloat16", DTYPES)
    versus = controls.select("Compare with", "versus", [NONE, *names], NONE, {NONE: "nothing", **names})
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
if config is None:
    fragments.stop()
label = "your own" if chosen == OWN else names.get(chosen, chosen)
found = costs(config, batch=batch, seq=seq, dtype=dtype)
largest = max(found.count.by_component, key=lambda name: found.count.by_component[name])
finding = (
    f"{label} has {found.count.total:,} parameters; the largest part, "
    f"{found.count.by_component[largest] / found.count.total:.0%}, is {largest}"
)
draw = {"ring": figures.ring_figure, "treemap": figures.treemap_figure, "blocks": figures.blocks_figure}[view]
with right:
    picture, numbers = st.columns([5, 2], gap="medium")
    with numbers:
        facts(config, found)
    with picture:
        figure(
            draw(found.count, 460),
            key="parts",
            height=460,
            min_width=380,
            alt=finding + ".",
            caption=f"{finding}. {len(found.count.by_layer)} blocks.",
            table=lambda: pd.DataFrame(found.count.by_component.items(), columns=["component", "parameters"]),
        )
    compared = {label: found}
    if versus != NONE:
        compared[names[versus]] = costs(known(versus), batch=batch, seq=seq, dtype=dtype)
    uses = {name: one.memory for name, one in compared.items()}
    train, generate = (sum(figures.bytes_of(found.memory, purpose).values()) / 1e9 for purpose in ("train", "generate"))
    height = 200 + 44 * (len(uses) - 1)
    words = f"{label} in {dtype}, batch of {batch} x {found.seq:,} tokens: {train:,.2f} GB to train with AdamW, "
    words += f"{generate:,.2f} GB to generate." + "".join(most(name, one, seq) for name, one in compared.items())

    figure(
        figures.memory_figure(uses, ("train", "generate"), height),
        key="memory",
        height=height,
        min_width=480,
        alt=words,
        caption=f"{words} Weights alone, quantised: {amount(found.weights('int8'))} in int8, "
        f"{amount(found.weights('int4'))} in int4, without the scales these need besides.",
        table=lambda: pd.DataFrame({name: figures.bytes_of(use, "train") for name, use in uses.items()}),
    )
    if versus != NONE:
        st.dataframe(
            pd.DataFrame(
                {
                    name: {
                        "parameters": f"{c.count.total:,}",
                        "active": f"{c.count.active:,}",
                        "sequence length": f"{c.seq:,}",
                        "GFLOPs per token": f"{c.flops.forward / 1e9:,.2f}",
                        "KV cache (bytes per token)": f"{c.cached:,}",
                    }
                    for name, c in compared.items()
                }
            )
        )
if controls.toggle("Count again by building it, on no memory at all", "build"):
    again = built(config)
    same = "the same" if again == found.count.total else "not the same: please report this"
    st.markdown(f"Built on torch's *meta* device, the model has **{again:,}** parameters: {same}.")
page.what_to_see(
    "The formula knows no GQA, no third matrix of a gate, no experts: see how far off it is for each model, and why. "
    "GPT-2's report gives 117 M parameters for its smallest model; the published weights hold 124.4 M. In a mixture of "
    "experts only the active parameters take part in the computation of a token, but all of them take memory."
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
    "cross-attention. BERT is counted with its masked language model's head, without that for next-sentence "
    "prediction."
)
page.terms("FLOPs", "KV cache", "mixture of experts")
page.source(parameters, rule_of_thumb)
page.experiment(experiments.counted, config, batch, seq, dtype)
st.caption(
    "N and 6 N: arXiv:2001.08361, table 1 and section 2.1. Memory in training: arXiv:1910.02054, section 3.1. Sizes of "
    "published models: their papers and weights, see tfcore.presets."
)
page.question(
    "Twelve layers of width 768 with a vocabulary of 50,257: how many parameters, roughly, without a computer?",
    "12 x 12 x 768² is 85 M for the blocks, and 50,257 x 768 is 39 M for the table: 124 M. That is GPT-2 small; "
    "positions, norms and biases add less than one percent.",
)
