"""Views of activation functions, of gated layers, and of the feed-forward share of a block."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
from jaxtyping import Float
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.feedforward import FeedForward
from tfcore.measures.block_parameters import block_share, layer_cost
from tfcore.model import Transformer
from tfcore.part_configs import Activation
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.draw.layers import (
    activation_figure,
    block_shares_figure,
    inputs_figure,
    matrices_figure,
    slice_figure,
    unit_figure,
)
from tfcore.views.block.feedforward.measure import activation_functions as functions
from tfcore.views.block.feedforward.measure.activation_functions import (
    ACTIVATION_NAMES,
    ActivationCurves,
    LayerInputs,
    value_and_slope,
)
from tfcore.views.block.feedforward.measure.layers import (
    block_shares,
    compare_widths,
    gated_unit,
    published_configs,
    share_formula,
)
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, name_of
from tfcore.views.view import View, view

FORMULAS: dict[Activation, str] = {
    "relu": r"\mathrm{ReLU}(x) = \max(0, x) \qquad \mathrm{ReLU}'(x) = [x > 0]",
    "gelu": r"\mathrm{GELU}(x) = x\,\Phi(x) \qquad \mathrm{GELU}'(x) = \Phi(x) + x\,\varphi(x)",
    "gelu_tanh": r"f(x) = \tfrac{x}{2}(1 + \tanh u) \qquad f'(x) = \tfrac{1 + \tanh u}{2} + "
    r"\tfrac{x}{2}\,(1 - \tanh^2 u)\,u' \qquad u = \sqrt{2/\pi}\,(x + 0.044715\,x^3)",
    "silu": r"\mathrm{SiLU}(x) = x\,\sigma(x) \qquad \mathrm{SiLU}'(x) = \sigma(x)\,\big(1 + x\,(1 - \sigma(x))\big)",
    "relu2": r"\mathrm{ReLU}^2(x) = \max(0, x)^2 \qquad f'(x) = 2 \max(0, x)",
}
# What a unit without a gate can be.
PLAIN: dict[Activation, str] = {
    "swiglu": "A plain SiLU unit cannot be negative but for its dip.",
    "geglu": "A plain GELU unit cannot be negative but for its dip.",
    "reglu": "A plain ReLU unit cannot be negative.",
}


# ---- activation functions ----


def _all_inputs(model: Transformer, tokenizer: Tokenizer, text: str) -> list[Float[Tensor, " input"]]:
    """The inputs of every layer, from one pass: 6 MB of 30 tokens of smollm2."""
    ids = tokenizer.encode(text)[: model.config.max_seq_len]
    return functions.pre_activations(model, ids, range(model.config.n_layers))


def _inputs(reading: Reading, layer: int) -> LayerInputs:
    return functions.inputs_among(all_inputs_of(reading.model, reading.text)[layer])


curves = kept(functions.activation_curves, entries=1)
all_inputs_of = kept(_all_inputs, entries=2)
inputs_of = kept(_inputs, entries=64)


class CurveAt(NamedTuple):
    """All functions, and one of them, or its slope, at the input looked at."""

    curves: ActivationCurves
    y: float


@view
def curve(kind: Activation, x: float, *, slope: bool = False) -> View:
    """The plain activation functions, or their slopes, and one of them at an input.

    Args:
        kind: the one looked at.
        x: the input.
        slope: the slopes instead of the values.
    """
    shown = curves()
    rows = shown.slope if slope else shown.value
    return View(
        key="slope" if slope else "value",
        title="The slopes" if slope else "The functions",
        result=CurveAt(shown, value_and_slope(kind, x)[slope]),
        chart=activation_figure(shown, kind, x, height=340, slope=slope),
        findings=(say.curve_point(shown, kind, x, slope=slope),),
        table=lambda: pd.DataFrame(rows.T, columns=list(ACTIVATION_NAMES.values())).assign(x=shown.x),
        formula=FORMULAS[kind],
        code=(functions.SLOPES[kind], FeedForward),
        papers="GELU: arXiv:1606.08415, section 2. SiLU: the same paper, and arXiv:1702.03118. Squared ReLU: "
        "arXiv:2109.08668, section 3.1.",
    )


@view
def inputs(reading: Reading, layer: int, kind: Activation, x: float) -> View:
    """Where on an activation function a trained model works: the inputs of one of its layers on a text.

    Args:
        reading: a text, and a model with feed-forward layers.
        layer: one of them.
        kind, x: see curve.
    """
    values = inputs_of(reading, layer)
    return View(
        key="inputs",
        title="The inputs of a layer",
        result=values,
        chart=inputs_figure(values, x, height=220),
        findings=(say.input_shares(values, name_of(reading.model), layer, kind),),
        table=lambda: pd.DataFrame({"from": values.edges[:-1], "to": values.edges[1:], "share": values.share}),
    )


# ---- gated layers ----


@view
def matrices(kind: Activation, d_model: int) -> View:
    """A gated layer has three matrices, so it gets two thirds of the width (arXiv:2002.05202).

    Args:
        kind: of the gate.
        d_model: width of the model.
    """
    layers = compare_widths(kind, d_model)
    finding = say.widths(layers, kind)
    return View(
        key="matrices",
        title="Matrices to scale",
        result=layers,
        chart=matrices_figure(layers, d_model, height=260),
        min_width=560,
        described=state(
            "matrices", "Parameters of three layers of width {d_model}. {finding}", d_model=d_model, finding=finding
        ),
        findings=(finding,),
        table=lambda: pd.DataFrame(
            [(name, cost.d_ff, cost.matrices, cost.count) for name, cost in layers],
            columns=["layer", "d_ff", "matrices", "parameters"],
        ),
        formula=(
            r"\mathrm{FFN}(x) = W_{down}\,\mathrm{act}(W_{up}\,x) \qquad "
            r"\mathrm{GLU}(x) = W_{down}\big(\mathrm{act}(W_{gate}\,x) \odot W_{up}\,x\big), \quad "
            r"3\,d \cdot \tfrac{8}{3}d = 2\,d \cdot 4d"
        ),
        code=(FeedForward, layer_cost),
        papers=(
            "GLU variants: arXiv:2002.05202, equations 5 and 6; widths: section 2. LLaMA (arXiv:2302.13971, section "
            "2.2) uses 8/3 d, rounded up to 11,008 at d = 4,096."
        ),
    )


@view
def unit(kind: Activation, up: float) -> View:
    """One unit of a gated layer over its two inputs.

    Args:
        kind: of the gate.
        up: the second input that is marked.
    """
    gated = gated_unit(kind)
    said = say.unit_range(gated, kind)
    return View(
        key="unit",
        title="A gated unit",
        result=gated,
        chart=unit_figure(gated, up, height=340),
        described=state("unit", "{said} Closest to 0 on the left, where the gate is closed.", said=said),
        findings=(said,),
        note="Left: the gate is closed.",
        table=lambda: pd.DataFrame(gated.gated, columns=gated.gate.round(2)),
    )


@view
def unit_slice(kind: Activation, up: float) -> View:
    """One unit of a gated layer at one value of its second input, beside a plain unit. See unit."""
    gated = gated_unit(kind)
    said = say.unit_slice(gated, up)
    return View(
        key="slice",
        title="A gated unit beside a plain one",
        result=gated,
        chart=slice_figure(gated, up, height=340),
        described=state("slice", "{said} {plain}", said=said, plain=PLAIN[kind]),
        findings=(said,),
        table=lambda: pd.DataFrame({"gate": gated.gate, "plain": gated.plain}),
    )


# ---- share of a block ----


@view
def shares(chosen: str, others: Mapping[str, ModelConfig]) -> View:
    """The feed-forward share of a block: two thirds in the classic shape, and more or less since.

    Args:
        chosen: the model looked at, a published one or one of the others.
        others: models to show below the published ones, name -> config.
    """
    blocks = block_shares(published_configs() | dict(others))
    return View(
        key="shares",
        title="The feed-forward share of a block",
        result=blocks,
        chart=block_shares_figure(blocks, chosen, height=470),
        min_width=350,
        described=say.every_share(blocks),
        findings=(say.chosen_share(blocks, chosen),),
        table=lambda: pd.DataFrame(
            [(name, b.feed_forward, b.attention, b.norms, b.share) for name, b in blocks.items()],
            columns=["model", "feed-forward", "attention", "norms", "share"],
        ),
        formula=(
            r"\text{share} = \frac{m\,r}{m\,r + 2 + 2g}, \quad m \text{ matrices}, \; r = d_{ff}/d, \; "
            r"g = n_{kv}/n_{heads}"
        ),
        code=(block_share, share_formula),
        papers="4 d² and 8 d² of a block: arXiv:2001.08361, table 1. Grouped queries: arXiv:2305.13245.",
    )
