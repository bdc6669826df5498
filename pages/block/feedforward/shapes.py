"""Panels of the page on the feed-forward layer: non-linearities, gates, and how many parameters it has."""

import pandas as pd
import streamlit as st

from pages.block.feedforward import experiments as experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models, own_models
from tfcore import presets
from tfcore.analysis.block import activation_functions as functions
from tfcore.analysis.block import feed_forward_widths as widths
from tfcore.config import Activation, ModelConfig
from tfcore.feedforward import FeedForward
from tfcore.figures.block import feedforward as figures

MODEL = "stories"
TEXT = "Once upon a time there was a little dog named Max. Max had a red ball. One day he lost it, and he was very sad."
NAMES: dict[Activation, str] = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU (tanh)", "silu": "SiLU"}
FORMULAS: dict[Activation, str] = {
    "relu": r"\mathrm{ReLU}(x) = \max(0, x) \qquad \mathrm{ReLU}'(x) = [x > 0]",
    "gelu": r"\mathrm{GELU}(x) = x\,\Phi(x) \qquad \mathrm{GELU}'(x) = \Phi(x) + x\,\varphi(x)",
    "gelu_tanh": r"f(x) = \tfrac{x}{2}(1 + \tanh u) \qquad f'(x) = \tfrac{1 + \tanh u}{2} + "
    r"\tfrac{x}{2}\,(1 - \tanh^2 u)\,u' \qquad u = \sqrt{2/\pi}\,(x + 0.044715\,x^3)",
    "silu": r"\mathrm{SiLU}(x) = x\,\sigma(x) \qquad \mathrm{SiLU}'(x) = \sigma(x)\,\big(1 + x\,(1 - \sigma(x))\big)",
}
GATES: dict[Activation, str] = {"swiglu": "SwiGLU", "geglu": "GEGLU", "reglu": "ReGLU"}
PLAIN: dict[Activation, str] = {"swiglu": "SiLU", "geglu": "GELU", "reglu": "ReLU"}
MODELS = {
    "GPT-2 small": presets.gpt2_small,
    "GPT-3 175B": presets.gpt3_175b,
    "BERT base": presets.bert_base,
    "Transformer base (decoder)": presets.transformer_base,
    "T5 base (decoder)": presets.t5_base,
    "LLaMA-2 7B": presets.llama2_7b,
    "LLaMA-3 8B": presets.llama3_8b,
    "Mistral 7B": presets.mistral_7b,
    "Gemma 7B": presets.gemma_7b,
    "Mixtral 8x7B": presets.mixtral_8x7b,
}
OURS, OWN = "stories (ours)", "your own"

curves = cache.data(max_entries=1)(functions.curves)
unit = cache.data(max_entries=4)(widths.gated_unit)
layer_cost = cache.data(max_entries=64)(widths.layer_cost)


@cache.data(max_entries=8)
def layer_inputs(model_name: str, layer: int) -> functions.Inputs:
    model, tokenizer = cache.model(model_name)
    return functions.layer_inputs(model, tokenizer.encode(TEXT)[: model.config.max_seq_len], layer)


def no_layer(config: ModelConfig, tokenizer: object) -> str | None:
    """Why a model is of no use for its inputs."""
    if config.experts:
        return "its feed-forward layers are experts, of which a token sees only a few."
    return models.attention_alone(config, tokenizer)


def activations() -> None:
    """The panel of the non-linearities."""
    st.markdown(
        "**Without an activation function the two matrices of a layer would be one.** Where its slope is 0, no "
        "gradient passes."
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        kind = controls.select("Function", "act", list(NAMES), "gelu", NAMES)
        x = controls.slider("Input x", "x", -functions.LIMIT, functions.LIMIT, -1.0, 0.1)
        model_name = models.choose("decoder", "encoder", key="of", default=MODEL, why_not=no_layer)
        n_layers = models.config(model_name).n_layers
        layer = controls.slider("Layer of the model", "gates", 0, n_layers - 1, min(1, n_layers - 1))
        value, slope = functions.at(kind, x)
        st.metric(f"{NAMES[kind]}({x:g})", f"{value:.4f}")
        st.metric("Slope there", f"{slope:.4f}")
    found, inputs = curves(), layer_inputs(model_name, layer)
    with right:
        st.latex(FORMULAS[kind])
        for place, is_slope in zip(st.columns(2, gap="medium"), (False, True), strict=True):
            what, number = ("Slope", slope) if is_slope else ("Value", value)
            rows = found.slope if is_slope else found.value
            with place:
                figure(
                    figures.curves_figure(found, kind, NAMES, x, 340, slope=is_slope),
                    key=what.lower(),
                    height=340,
                    table=lambda r=rows: pd.DataFrame(r.T, columns=list(NAMES.values())).assign(x=found.x),
                    alt=f"{what} of four functions from {-functions.LIMIT:g} to {functions.LIMIT:g}; {NAMES[kind]} at "
                    f"{x:g}: {number:.4f}, its lowest {rows[functions.KINDS.index(kind)].min():.4f}.",
                    caption=f"{what} of {NAMES[kind]} at {x:g}: {number:.4f}; lowest "
                    f"{rows[functions.KINDS.index(kind)].min():.4f}"
                    + (f", highest {rows[functions.KINDS.index(kind)].max():.4f}." if is_slope else "."),
                )
        figure(
            figures.inputs_figure(inputs, x, 220),
            key="inputs",
            height=220,
            table=lambda: pd.DataFrame({"from": inputs.edges[:-1], "to": inputs.edges[1:], "share": inputs.share}),
            alt=f"{inputs.count:,} inputs of layer {layer} on one text: {inputs.negative:.0%} are below 0.",
            caption=f"In a trained model: {inputs.count:,} inputs of layer {layer} of {model_name} on a text, "
            f"{inputs.negative:.0%} below 0. {NAMES[kind]} has a slope under {functions.FLAT} at "
            f"{inputs.flat[kind]:.0%} of them.",
        )
    page.try_this(
        {
            "ReLU below 0": {"act": "relu", "x": -1.0},
            "steeper than 1": {"act": "gelu", "x": 1.4},
            "the lowest point": {"act": "silu", "x": -1.3},
            "exact or tanh?": {"act": "gelu_tanh", "x": -2.0},
        }
    )
    page.what_to_see(
        "ReLU's slope is 0 below 0: a neuron whose input stays there gets no gradient. GELU and SiLU dip below 0 and "
        "keep a slope there, and are a little steeper than 1 above. Exact GELU and its tanh form differ by at most "
        f"{found.difference:.5f}: the original GPT-2 used the approximation because it was faster. "
    )
    page.source(functions.SLOPES[kind], FeedForward)
    page.experiment(experiments.activations, model_name, TEXT, layer, kind, x)
    st.caption("GELU: arXiv:1606.08415, section 2. SiLU: the same paper, and arXiv:1702.03118.")
    page.question(
        "Why does a layer with ReLU compute the same after all weights of W_up are doubled and those of W_down halved, "
        "and a layer with GELU not?",
        "max(0, 2x) = 2 max(0, x): doubling the input of ReLU doubles its output. GELU has no such rule: at −1 it is "
        "−0.16, at −2 only −0.05.",
    )


def gates() -> None:
    """The panel of gated layers."""
    st.markdown(
        "**A gated layer (GLU) multiplies two projections of the input**: one, through the activation function, gates "
        "the other. It has three matrices, so it gets two thirds of the width for the same number of parameters."
    )
    st.latex(
        r"\mathrm{FFN}(x) = W_{down}\,\mathrm{act}(W_{up}\,x) \qquad "
        r"\mathrm{GLU}(x) = W_{down}\big(\mathrm{act}(W_{gate}\,x) \odot W_{up}\,x\big), \quad "
        r"3\,d \cdot \tfrac{8}{3}d = 2\,d \cdot 4d"
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        kind = controls.select("Gate", "glu", list(GATES), "swiglu", GATES)
        d_model = controls.slider("Width d_model", "d", 64, 8192, 4096, 64)
        up = controls.slider("Second input: W_up x", "up", -4.0, 4.0, -2.0, 0.1)
    plain = layer_cost("relu", d_model)
    matched, wide = layer_cost(kind, d_model), layer_cost(kind, d_model, 4 * d_model)
    rows = [("FFN, 4 d", plain), (f"{GATES[kind]}, 8/3 d", matched), (f"{GATES[kind]}, 4 d", wide)]
    ratio = matched.count / plain.count
    with left:
        st.metric(
            "d_ff for the same parameters",
            f"{matched.d_ff:,}",
            f"8/3 d = {8 * d_model / 3:,.1f}",
            delta_color="off",
            delta_arrow="off",
        )
    with right:
        figure(
            figures.matrices_figure(rows, d_model, 260),
            key="matrices",
            height=260,
            min_width=560,
            table=lambda: pd.DataFrame(
                [(name, c.d_ff, c.matrices, c.count) for name, c in rows],
                columns=["layer", "d_ff", "matrices", "parameters"],
            ),
            alt=f"Parameters of three layers of width {d_model}: FFN {plain.count:,}, {GATES[kind]} of width "
            f"{matched.d_ff:,} {matched.count:,} ({ratio:.2%}), of width {wide.d_ff:,} {wide.count:,}.",
            caption=f"FFN: {plain.count:,}. {GATES[kind]} at {matched.d_ff:,} (a multiple of 8): {matched.count:,}, "
            f"{ratio:.2%} of it; at 4 d: {wide.count:,}, {wide.count / plain.count:.0%}.",
        )
        found = unit(kind)
        low, high = found.gated.min(), found.gated.max()
        surface, line = st.columns(2, gap="medium")
        with surface:
            figure(
                figures.unit_figure(found, up, 340),
                key="unit",
                height=340,
                table=lambda: pd.DataFrame(found.gated, columns=found.gate.round(2)),
                alt=f"A {GATES[kind]} unit over gate and up from −4 to 4: from {low:.1f} to {high:.1f}; near 0 where "
                "the gate is below −2.",
                caption=f"One {GATES[kind]} unit over its two inputs: from {low:.1f} to {high:.1f}. Left: the gate is "
                "closed.",
            )
        with line:
            figure(
                figures.slice_figure(found, up, 340),
                key="slice",
                height=340,
                table=lambda: pd.DataFrame({"gate": found.gate, "plain": found.plain}),
                alt=f"The same unit where W_up x is {up:g}, beside a plain {PLAIN[kind]} unit, which cannot be "
                "negative but for its dip.",
                caption=f"Where W_up x = {up:g}: at gate 4 the gated unit gives {up * found.plain[-1]:.1f}, a plain "
                f"one {found.plain[-1]:.1f}.",
            )
    page.try_this(
        {
            "LLaMA's width": {"glu": "swiglu", "d": 4096},
            "a negative second input": {"up": -3.0},
            "GEGLU, small": {"glu": "geglu", "d": 512},
            "ReGLU: hard gates": {"glu": "reglu", "up": 2.0},
        }
    )
    page.what_to_see(
        "The first two bars are as good as equal: three narrow matrices have as many parameters as two wide ones, but "
        "for rounding to a multiple of 8. The surface is one gated unit: a product, large or small with the sign of "
        "either input, and near 0 where the gate is closed, on the left."
    )
    page.source(FeedForward, widths.layer_cost)
    page.experiment(experiments.gates, kind, d_model, up)
    st.caption(
        "GLU variants: arXiv:2002.05202, equations 5 and 6; widths: section 2. LLaMA (arXiv:2302.13971, section 2.2) "
        "uses 8/3 d, rounded up to 11,008 at d = 4,096."
    )
    page.question(
        "With both inputs of a ReGLU unit doubled, its output is four times as large. What does that tell about depth?",
        "It is a product of two numbers that depend on the token: a gated layer can compute products of features in "
        "one layer, where a plain one needs many units to approximate one.",
    )


def share() -> None:
    """The panel of the two thirds."""
    st.markdown(
        "**Two thirds of a block are feed-forward where d_ff = 4 d**: 8 d² weights beside attention's 4 d². Shared KV "
        "heads make attention smaller, experts make the other part larger."
    )
    st.latex(
        r"\text{share} = \frac{m\,r}{m\,r + 2 + 2g}, \quad m \text{ matrices}, \; r = d_{ff}/d, \; g = n_{kv}/n_{heads}"
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        listed = {name: name for name in (*MODELS, OURS, OWN)}
        chosen = models.choose(label="Block of", default=OWN, options=listed)
        st.caption("Your own block:")
        d_model = controls.slider("Width d_model", "d", 64, 8192, 4096, 64)
        ratio = controls.slider("d_ff / d_model", "ratio", 0.5, 8.0, 4.0, 0.1)
        kv = controls.select("KV heads, of 32", "kv", [1, 2, 4, 8, 16, 32], 32)
        gated = controls.toggle("Gated (three matrices)", "gated")
    own = ModelConfig(
        vocab_size=1,
        d_model=d_model,
        n_layers=1,
        n_heads=32,
        n_kv_heads=kv,
        d_ff=round(ratio * d_model),
        activation="swiglu" if gated else "relu",
    )
    configs = {name: build() for name, build in MODELS.items()} | {OURS: models.config(MODEL), OWN: own}
    configs |= {name: models.config(name) for name in models.names() if own_models.is_own(name)}
    rows = [(name, widths.block_share(config)) for name, config in configs.items()]
    looked, part = dict(rows)[chosen], {name: block.share for name, block in rows}
    with left:
        st.metric(f"Feed-forward share, {chosen}", f"{looked.share:.1%}")
        if chosen == OWN:
            st.caption(f"By the formula: {widths.share_formula(3 if gated else 2, ratio, kv / 32):.1%} (without norms)")
    with right:
        figure(
            figures.shares_figure(rows, chosen, 470),
            key="shares",
            height=470,
            min_width=460,
            table=lambda: pd.DataFrame(
                [(n, b.feed_forward, b.attention, b.norms, b.share) for n, b in rows],
                columns=["model", "feed-forward", "attention", "norms", "share"],
            ),
            alt="Share of the feed-forward half in one block: " + ", ".join(f"{n} {b.share:.1%}" for n, b in rows),
            caption=f"{chosen}: {looked.feed_forward:,} of {looked.total:,} parameters of a block, {looked.share:.1%}.",
        )
    page.try_this(
        {
            "the classic": {"model": OWN, "ratio": 4.0, "kv": 32, "gated": False},
            "GQA": {"model": "LLaMA-3 8B"},
            "one KV head (MQA)": {"model": OWN, "kv": 1},
            "experts": {"model": "Mixtral 8x7B"},
            "with cross-attention": {"model": "Transformer base (decoder)"},
        }
    )
    page.what_to_see(
        f"Feed-forward share: {part['GPT-2 small']:.0%} in GPT-2 and {part['LLaMA-2 7B']:.0%} in LLaMA-2, whose layers "
        f"are gated but 8/3 d wide; {part['LLaMA-3 8B']:.0%} in LLaMA-3 8B, with shared KV heads and a wider layer; "
        f"{part['Mixtral 8x7B']:.0%} in Mixtral, with eight experts; {part['Transformer base (decoder)']:.0%} in a "
        "decoder with cross-attention, which has attention twice."
    )
    gpt3 = dict(rows)["GPT-3 175B"]
    page.source(widths.block_share, widths.share_formula)
    named = {name: build.__name__ for name, build in MODELS.items()}
    page.experiment(experiments.share, named, own, chosen)
    st.caption("4 d² and 8 d² of a block: arXiv:2001.08361, table 1. Grouped queries: arXiv:2305.13245.")
    page.question(
        "Which has more parameters in GPT-3's 96 blocks: attention or the feed-forward layers?",
        f"The feed-forward layers, two to one: {96 * gpt3.feed_forward / 1e9:.0f} billion of "
        f"{96 * gpt3.total / 1e9:.0f} billion.",
    )
