"""Where the parameters of a model are, what they cost, and whether the rule of thumb is right."""

import pandas as pd
import streamlit as st

from pages.experiments import parameters as experiments
from pages.model._parameters_choice import OWN, by_sliders
from pages.ui import cache, controls, models, page
from pages.ui.figure import figure
from pages.ui.presets import NAMES, all_names, known
from tfcore.analysis import model_costs
from tfcore.analysis.memory_use import Dtype
from tfcore.analysis.model_costs import ModelCosts
from tfcore.analysis.parameter_count import parameters
from tfcore.config import ModelConfig
from tfcore.figures import parameters as figures
from tfcore.figures.parameters import short
from tfcore.presets import PRESETS

costs = cache.data(max_entries=256)(model_costs.model_costs)
built = cache.data(max_entries=64)(model_costs.built)
VIEWS = {"ring": "shares", "treemap": "tree", "blocks": "blocks"}
DTYPES: dict[Dtype, str] = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
NONE = "none"


@cache.data(max_entries=1)
def every_preset() -> pd.DataFrame:
    """All presets, a row each."""
    rows = []
    for name, label in NAMES.items():
        config = PRESETS[name]()
        found = model_costs.model_costs(config, seq=1024)
        rows.append(
            {
                "model": label, "parameters": found.count.total, "active": found.count.active,
                "12 N d² + V d": found.formula, "error": found.formula_error, "d_model": config.d_model,
                "layers": config.encoder_layers + config.decoder_layers, "heads": config.n_heads,
                "key/value heads": config.kv_heads, "GFLOPs a token": found.flops.forward / 1e9,
                "weights in bf16 (GB)": found.memory.weights / 1e9, "KV bytes a token": found.memory.kv_cache // 1024,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def facts(config: ModelConfig, found: ModelCosts) -> None:
    """The numbers beside the picture."""
    st.metric("Parameters", f"{found.count.total:,}", short(found.count.total), delta_color="off", delta_arrow="off")
    if found.count.active != found.count.total:
        share = f"{found.count.active / found.count.total:.0%} of all"
        st.metric("Active for a token", f"{found.count.active:,}", share, delta_color="off", delta_arrow="off")
    st.metric("12 N d² + V d says", f"{found.formula:,}", f"{found.formula_error:+.1%} off", delta_color="off",
              delta_arrow="off")  # fmt: skip
    other = "untied" if config.tie_embeddings else "tied"
    st.metric(f"Unembedding {other}", short(found.other_tying))
    st.metric("Operations a token, forward", f"{short(found.flops.forward)} FLOP",
              f"6 N in training: {short(found.flops.six_n)}", delta_color="off", delta_arrow="off")  # fmt: skip


page.begin(
    "Where are the parameters?",
    "In the matrices: two thirds of a plain block are feed-forward, one third attention, and a small model is mostly "
    "its vocabulary. Count any model, exactly, without building it.",
    r"P \approx 12\,N d^2 + V d",
)
names = all_names()
left, right = st.columns([1, 3], gap="medium")
with left:
    listed = {**names, OWN: "your own, by sliders"}
    chosen = models.choose(default="gpt2_small", options=listed)
    config = by_sliders() if chosen == OWN else known(chosen)
    view = controls.segmented("Show", "view", list(VIEWS), "ring", VIEWS)
    batch = controls.slider("Batch", "batch", 1, 256, 1)
    seq = controls.slider("Tokens of a text", "seq", 16, 32_768, 1_024, 16)
    dtype = controls.segmented("Precision", "dtype", list(DTYPES), "bfloat16", DTYPES)
    versus = controls.select("Compare with", "versus", [NONE, *names], NONE, {NONE: "nothing", **names})
page.try_this(
    {
        "117 M?": {"model": "gpt2_small"},
        "175 billion": {"model": "gpt3_175b"},
        "mostly vocabulary": {"model": "stories"},
        "46.7 B, 12.9 B at work": {"model": "mixtral_8x7b", "view": "ring"},
        "LLaMA 2 against 3": {"model": "llama3_8b", "versus": "llama2_7b"},
        "12 heads in 832": {"model": OWN, "d_model": 832, "n_heads": 12},
    }
)
if config is None:
    st.stop()
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
            draw(found.count, 460), key="parts", height=460, min_width=380, alt=finding + ".",
            caption=f"{finding}. {len(found.count.by_layer)} blocks.",
            table=lambda: pd.DataFrame(found.count.by_component.items(), columns=["component", "parameters"]),
        )  # fmt: skip
    uses = {label: found.memory}
    if versus != NONE:
        other = costs(known(versus), batch=batch, seq=seq, dtype=dtype)
        uses[names[versus]] = other.memory
    train, generate = (sum(figures.bytes_of(found.memory, purpose).values()) / 1e9 for purpose in ("train", "generate"))
    height = 200 + 44 * (len(uses) - 1)
    words = f"{label} in {dtype}, {batch} x {seq} tokens: {train:,.2f} GB to train with AdamW, "
    words += f"{generate:,.2f} GB to generate"
    figure(
        figures.memory_figure(uses, ("train", "generate"), height), key="memory", height=height, min_width=480,
        alt=words + ".", caption=words + ".",
        table=lambda: pd.DataFrame({name: figures.bytes_of(use, "train") for name, use in uses.items()}),
    )  # fmt: skip
    if versus != NONE:
        st.dataframe(
            pd.DataFrame(
                {
                    name: {
                        "parameters": f"{c.count.total:,}", "active": f"{c.count.active:,}",
                        "GFLOPs a token": f"{c.flops.forward / 1e9:,.2f}",
                        "KV cache (bytes a token)": f"{c.memory.kv_cache / batch / seq:,.0f}",
                    }
                    for name, c in ((label, found), (names[versus], other))
                }
            )
        )  # fmt: skip
if controls.toggle("Count again by building it, on no memory at all", "build"):
    again = built(config)
    same = "the same" if again == found.count.total else "not the same: please report this"
    st.markdown(f"Built on torch's *meta* device, the model has **{again:,}** parameters: {same}.")
page.what_to_see(
    "The formula knows no GQA, no third matrix of a gate, no experts: see how far off it is for each model, and why. "
    "GPT-2 small is often said to have 117 M parameters; its weights hold 124.4 M. Of a mixture of experts only the "
    "active part costs time for a token, but all of it costs memory."
)
st.subheader("All presets", anchor=False)
st.dataframe(
    every_preset(), hide_index=True, height=320,
    column_config={
        "parameters": st.column_config.NumberColumn(format="localized"),
        "active": st.column_config.NumberColumn(format="localized"),
        "12 N d² + V d": st.column_config.NumberColumn(format="localized"),
        "error": st.column_config.NumberColumn(format="percent"),
        "GFLOPs a token": st.column_config.NumberColumn(format="%.2f"),
        "weights in bf16 (GB)": st.column_config.NumberColumn(format="%.2f"),
    },
)  # fmt: skip
page.source(parameters, model_costs.formula)
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
