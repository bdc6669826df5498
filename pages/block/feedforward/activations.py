"""Panel of the page on the feed-forward layer: activation functions, and the inputs of a trained layer."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.block.feedforward import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import usual
from tfcore.analysis.block import activation_functions as functions
from tfcore.analysis.block.activation_functions import (
    ACTIVATION_NAMES,
    GeluDifference,
    LayerInputs,
    curve_point,
    inputs_among,
    pre_activations,
)
from tfcore.config import Activation, ModelConfig
from tfcore.feedforward import FeedForward

MODEL = "stories"
TEXT = "Once upon a time there was a little dog named Max. Max had a red ball. One day he lost it, and he was very sad."
FORMULAS: dict[Activation, str] = {
    "relu": r"\mathrm{ReLU}(x) = \max(0, x) \qquad \mathrm{ReLU}'(x) = [x > 0]",
    "gelu": r"\mathrm{GELU}(x) = x\,\Phi(x) \qquad \mathrm{GELU}'(x) = \Phi(x) + x\,\varphi(x)",
    "gelu_tanh": r"f(x) = \tfrac{x}{2}(1 + \tanh u) \qquad f'(x) = \tfrac{1 + \tanh u}{2} + "
    r"\tfrac{x}{2}\,(1 - \tanh^2 u)\,u' \qquad u = \sqrt{2/\pi}\,(x + 0.044715\,x^3)",
    "silu": r"\mathrm{SiLU}(x) = x\,\sigma(x) \qquad \mathrm{SiLU}'(x) = \sigma(x)\,\big(1 + x\,(1 - \sigma(x))\big)",
}

curves = cache.data(max_entries=1)(functions.activation_curves)


@cache.shared(max_entries=2)
def all_inputs(model_name: str, pasted: str) -> list[Any]:
    """Of every layer, from one pass: 6 MB of 30 tokens of smollm2."""
    network, tokenizer = cache.model(model_name)
    ids = tokenizer.encode(pasted)[: network.config.max_seq_len]
    return pre_activations(network, ids, range(network.config.n_layers))


@cache.data(max_entries=64)
def inputs_of(model_name: str, pasted: str, layer: int) -> LayerInputs:
    return inputs_among(all_inputs(model_name, pasted)[layer])


def no_layer(config: ModelConfig, tokenizer: object) -> str | None:
    """Why a model is of no use for its inputs."""
    if config.experts:
        return "its feed-forward layers are experts, of which a token sees only a few."
    return models.attention_alone(config, tokenizer)


def activations() -> None:
    """The panel of the activation functions."""
    st.markdown(
        "**Without an activation function the two matrices of a layer would be one.** Where its slope is 0, no "
        "gradient passes."
    )
    page.try_this(
        {
            "ReLU below 0": {"act": "relu", "x": -1.0},
            "steeper than 1": {"act": "gelu", "x": 1.4},
            "the lowest point": {"act": "silu", "x": -1.3},
            "exact or tanh?": {"act": "gelu_tanh", "x": -2.0},
        }
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        kind = controls.select("Function", "act", list(ACTIVATION_NAMES), "gelu", ACTIVATION_NAMES)
        x = controls.slider("Input x", "x", -functions.CURVE_LIMIT, functions.CURVE_LIMIT, -1.0, 0.1)
        model_name = models.choose("decoder", "encoder", key="of", default=MODEL, why_not=no_layer)
        n_layers = models.config(model_name).n_layers
        with page.more_settings():
            layer = controls.place("Layer of the model", "gates", n_layers, 1)
        places = {is_slope: curve_point(curves(), kind, x, slope=is_slope) for is_slope in (False, True)}
        st.metric(places[False].call, places[False].number)
        st.metric("Slope there", places[True].number)
    pasted = usual(model_name, TEXT)
    found, inputs = curves(), inputs_of(model_name, pasted, layer)
    with right:
        for place, is_slope in zip(st.columns(2, gap="medium"), places, strict=True):
            shown = experiments.curve(found, kind, x, is_slope)
            rows = found.slope if is_slope else found.value
            with place:
                figure(
                    shown.figure,
                    key="slope" if is_slope else "value",
                    height=340,
                    table=lambda r=rows: pd.DataFrame(r.T, columns=list(ACTIVATION_NAMES.values())).assign(x=found.x),
                    alt=shown.alt,
                    caption=shown.caption,
                )
        shown = experiments.activations(inputs, model_name, layer, kind, x)
        figure(
            shown.figure,
            key="inputs",
            height=220,
            table=lambda: pd.DataFrame({"from": inputs.edges[:-1], "to": inputs.edges[1:], "share": inputs.share}),
            alt=shown.alt,
            caption=shown.caption,
        )
    page.what_to_see(
        "ReLU's slope is 0 below 0: a neuron whose input stays there gets no gradient. GELU and SiLU dip below 0 and "
        f"keep a slope there, and are a little steeper than 1 above. {GeluDifference(found.difference)} The original "
        "GPT-2 used the approximation because it was faster."
    )
    read = made(experiments.inputs_of, model_name, pasted, layer)
    page.question(
        "Why does a layer with ReLU and no biases compute the same after all weights of W_up are doubled and those of "
        "W_down halved, and a layer with GELU not?",
        "max(0, 2x) = 2 max(0, x): doubling the input of ReLU doubles its output. GELU has no such rule: at −1 it is "
        "−0.16, at −2 only −0.05.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.activations, read, model_name, layer, kind, x),
        formula=FORMULAS[kind],
        code=(functions.SLOPES[kind], FeedForward),
        papers="GELU: arXiv:1606.08415, section 2. SiLU: the same paper, and arXiv:1702.03118.",
    )
