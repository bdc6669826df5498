"""The feed-forward layer: neurons, activation functions, gated layers, and its share of a block."""

from collections.abc import Callable

import streamlit as st

from pages.block.feedforward import neurons
from pages.block.feedforward.facts import FACTS
from pages.ui import controls, page
from pages.ui.frame import panel
from pages.ui.loading import models, own_models
from pages.ui.reading import usual
from tfcore.config import ModelConfig
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.presets import PRESETS
from tfcore.views.block import feedforward as views
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.measure.activation_functions import ACTIVATION_NAMES, CURVE_LIMIT
from tfcore.views.block.feedforward.measure.layers import GATE_NAMES, PUBLISHED, UNIT_LIMIT
from tfcore.views.sources import Reading

MODEL = "stories"

# ---- activation functions ----

TEXT = "Once upon a time there was a little dog named Max. Max had a red ball. One day he lost it, and he was very sad."


def no_layer(config: ModelConfig, tokenizer: object) -> str | None:
    """Why a model is of no use for its inputs."""
    if config.experts:
        return "its feed-forward layers are experts, of which a token sees only a few."
    return models.attention_alone(config, tokenizer)


def activations() -> None:
    """Activation functions, their slopes, and the inputs of a trained layer."""
    st.markdown(
        "**Without an activation function the two matrices of a layer would be one.** Where its slope is 0, no "
        "gradient passes."
    )
    with panel() as p:
        p.examples(
            {
                "ReLU below 0": {"act": "relu", "x": -1.0},
                "steeper than 1": {"act": "gelu", "x": 1.4},
                "the lowest point": {"act": "silu", "x": -1.3},
                "exact or tanh?": {"act": "gelu_tanh", "x": -2.0},
                "a slope that grows": {"act": "relu2", "x": 2.0},
            }
        )
        with p.controls:
            kind = controls.select("Function", "act", list(ACTIVATION_NAMES), "gelu", ACTIVATION_NAMES)
            x = controls.slider("Input x", "x", -CURVE_LIMIT, CURVE_LIMIT, -1.0, 0.1)
            model_name = models.choose(
                "decoder", "encoder", key="of", default=MODEL, why_not=no_layer, reads="the stream"
            )
            with page.more_settings():
                layer = controls.place("Layer of the model", "gates", models.config(model_name).n_layers, 1)
            value, slope = views.curve(kind, x), views.curve(kind, x, slope=True)
            st.metric(f"{ACTIVATION_NAMES[kind]}({x:g})", f"{value.result.y:.4f}")
            st.metric("Slope there", f"{slope.result.y:.4f}")
        with p.picture:
            for place, shown in zip(st.columns(2, gap="medium"), (value, slope), strict=True):
                with place:
                    p.show(shown)
            p.show(views.inputs(Reading(model_name, usual(model_name, TEXT)), layer, kind, x))
        p.what_to_see(
            "ReLU's slope is 0 below 0: a neuron whose input stays there gets no gradient. GELU and SiLU dip below 0 "
            "and keep a slope there, and are a little steeper than 1 above. "
            f"{say.gelu_difference(value.result.curves)} The original GPT-2 used the approximation because it was "
            "faster. Squared ReLU (ReLU²), found by a search (arXiv:2109.08668) and used by Nemotron, has no corner at "
            "0, and its slope grows with the input."
        )
        p.question(
            "Why does a layer with ReLU and no biases compute the same after all weights of W_up are doubled and those "
            "of W_down halved, and a layer with GELU not?",
            "max(0, 2x) = 2 max(0, x): doubling the input of ReLU doubles its output. GELU has no such rule: at −1 it "
            "is −0.16, at −2 only −0.05.",
        )


# ---- gated layers ----


def gates() -> None:
    """Gated layers, their widths, and one of their units."""
    st.markdown(
        "**A gated layer (GLU) multiplies two projections of the input**: one, through the activation function, gates "
        "the other. It has three matrices, so it gets two thirds of the width for the same number of parameters."
    )
    with panel() as p:
        p.examples(
            {
                "LLaMA's width": {"glu": "swiglu", "d": 4096},
                "a negative second input": {"up": -3.0},
                "GEGLU, small": {"glu": "geglu", "d": 512},
                "ReGLU: hard gates": {"glu": "reglu", "up": 2.0},
            }
        )
        with p.controls:
            kind = controls.select("Gate", "glu", list(GATE_NAMES), "swiglu", GATE_NAMES)
            d_model = controls.slider("Width d_model", "d", 64, 8192, 4096, 64)
            up = controls.slider("Second input: W_up x", "up", -UNIT_LIMIT, UNIT_LIMIT, -2.0, 0.1)
            matrices = views.matrices(kind, d_model)
            _, (_, matched), _ = matrices.result
            st.metric(
                "d_ff for the same parameters",
                f"{matched.d_ff:,}",
                f"8/3 d = {8 * d_model / 3:,.1f}",
                delta_color="off",
                delta_arrow="off",
            )
        with p.picture:
            p.show(matrices)
            surface, line = st.columns(2, gap="medium")
            with surface:
                p.show(views.unit(kind, up))
            with line:
                p.show(views.unit_slice(kind, up))
        p.what_to_see(
            "The first two bars are as good as equal: three narrow matrices have as many parameters as two wide ones, "
            "but for rounding to a multiple of 8. The surface is one gated unit: a product that takes the sign of the "
            "second input where the gate is open, on the right, and is close to 0 where it is closed, on the left."
        )
        p.question(
            "With both inputs of a ReGLU unit doubled, its output is four times as large. What can one layer do with "
            "that?",
            "It is a product of two numbers that depend on the token: a gated layer can compute products of features "
            "in one layer, where a plain one needs many units to approximate one.",
        )


# ---- share of a block ----

OURS = "stories (ours)"
OWN = "your own"


def share() -> None:
    """The feed-forward share of a block."""
    st.markdown(
        "**Two thirds of a block are feed-forward where d_ff = 4 d**: 8 d² weights beside attention's 4 d². Shared KV "
        "heads make attention smaller, experts make the other part larger."
    )
    with panel() as p:
        p.examples(
            {
                "the classic": {"model": OWN, "ratio": 4.0, "kv": 32, "gated": False},
                "GQA": {"model": "LLaMA-3 8B"},
                "one KV head (MQA)": {"model": OWN, "kv": 1},
                "experts": {"model": "Mixtral 8x7B"},
                "with cross-attention": {"model": "Transformer base (decoder)"},
            }
        )
        with p.controls:
            listed = {name: name for name in (*PUBLISHED, OURS, OWN)}
            chosen = models.choose(label="Block of", default=OWN, options=listed, reads="the stream")
            st.caption("Your own block:")
            d_model = controls.slider("Width d_model", "d", 64, 8192, 4096, 64)
            ratio = controls.slider("d_ff / d_model", "ratio", 0.5, 8.0, 4.0, 0.1)
            with page.more_settings():
                kv = controls.select("KV heads, of 32", "kv", [1, 2, 4, 8, 16, 32], 32)
                gated = controls.toggle("Gated (three matrices)", "gated")
            own = ModelConfig(
                vocab_size=1,
                d_model=d_model,
                n_layers=1,
                attention=AttentionConfig(n_heads=32, n_kv_heads=kv),
                feed_forward=FeedForwardConfig(d_ff=round(ratio * d_model), activation="swiglu" if gated else "relu"),
            )
            uploaded = {name: models.config(name) for name in models.names() if own_models.is_own(name)}
            shown = views.shares(chosen, {OURS: models.config(MODEL), OWN: own} | uploaded)
            st.metric(f"Feed-forward share, {chosen}", f"{shown.result[chosen].share:.1%}")
            if chosen == OWN:
                st.caption(str(say.formula_share(3 if gated else 2, ratio, kv / 32)))
        with p.picture:
            p.show(shown)
        p.what_to_see(str(say.published_shares(shown.result)))
        p.question(
            "Which has more parameters in GPT-3's 96 blocks: attention or the feed-forward layers?",
            str(say.feed_forward_total(PRESETS["gpt3_175b"]())),
        )


PANELS: dict[str, Callable[[], None]] = {
    "neurons": neurons.show,
    "activations": activations,
    "gates": gates,
    "share": share,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
