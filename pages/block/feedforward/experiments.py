"""The experiments of the page on the feed-forward layer."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from numpy import ndarray

from tfcore import load
from tfcore.analysis.block.activation_functions import (
    ActivationCurves,
    LayerInputs,
    curve_point,
    input_shares,
    layer_inputs,
)
from tfcore.analysis.block.feedforward import (
    BlockShare,
    chosen_share,
    compare_widths,
    every_share,
    gated_unit,
    published_configs,
    unit_range,
    unit_slice,
)
from tfcore.analysis.block.neuron_shares import NeuronReading, WritingNeurons, along_text
from tfcore.analysis.block.neurons import ActiveNeuron, Promotion, activation_peak, named_most_active, text_activations
from tfcore.charts.promoted import promoted_figure
from tfcore.config import Activation, ModelConfig
from tfcore.figures.block.feedforward import (
    activation_figure,
    block_shares_figure,
    inputs_figure,
    matrices_figure,
    slice_figure,
    unit_figure,
)
from tfcore.figures.block.neurons import activations_figure, active_figure, shares_figure
from tfcore.figures.shown import Shown
from tfcore.measures.neuron_scan import load_neuron_scan
from tfcore.measures.token_text import label, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

LETTERS = 8  # of a token beside a bar


def read(model: Transformer, tokenizer: Tokenizer, text: str) -> tuple[Float[ndarray, "layer seq neuron"], list[str]]:
    """Every neuron at every token of a text, and the tokens."""
    ids = tokenizer.encode(text)[: model.config.max_seq_len]
    return text_activations(model, ids), tokenizer.tokens(ids)


def promoted(promotion: Promotion) -> Shown:
    """The value vector of a neuron: the tokens whose logits it raises and lowers most (arXiv:2012.14913)."""
    followed = None if promotion.followed is None else label(promotion.followed, 12)
    return Shown(
        promoted_figure(tick_labels(promotion.tokens), promotion.lifts, followed, height=330, room=1.8), (promotion,)
    )


def neuron(
    reading: tuple[Float[ndarray, "layer seq neuron"], list[str]],
    promotion: Promotion,
    scan_of: str,
    layer: int,
    neuron: int,
    side: int,
    token: int,
) -> Shown:
    """One neuron as a small rule: where it is active in a text, and the tokens it then promotes (arXiv:2012.14913)."""
    values, tokens = reading
    own = values[layer, :, neuron]
    record = load_neuron_scan(scan_of).record(layer, neuron, side)  # its largest activation in many texts
    found = activation_peak(own, record, tokens, layer, neuron)
    return Shown(activations_figure(own, tick_labels(tokens), token, record, height=330), (found, promotion))


def shares(found: WritingNeurons, layer: int, neuron: int) -> Shown:
    """The neurons with the largest shares in the logit of the token that is expected next (arXiv:2211.00593)."""
    words = [" ".join(label(token, LETTERS) for token in one.raised) for one in found.largest]
    return Shown(shares_figure(found.largest, words, (layer, neuron), height=330), (found,))


def along(reading: NeuronReading, layer: int, neuron: int, token: int) -> Shown:
    """The activation of a neuron at every token of a text."""
    own = reading.values[layer, :, neuron]
    figure = activations_figure(own, tick_labels(reading.tokens), token, None, height=230)
    return Shown(figure, (along_text(own, reading.tokens, layer, neuron),))


def active(
    neurons: Sequence[ActiveNeuron], promoted: Sequence[Sequence[str]], token: str, chosen: tuple[int, int, int]
) -> Shown:
    """The neurons most active at a token, with the tokens that each promotes."""
    words = [" ".join(map(label, tokens)) for tokens in promoted]
    return Shown(active_figure(neurons, words, chosen, height=330), (named_most_active(neurons, token),))


def curve(curves: ActivationCurves, kind: Activation, x: float, slope: bool) -> Shown:
    """The plain activation functions, or their slopes, and one of them at the input x."""
    figure = activation_figure(curves, kind, x, height=340, slope=slope)
    return Shown(figure, (curve_point(curves, kind, x, slope=slope),))


def inputs_of(model: Transformer, tokenizer: Tokenizer, text: str, layer: int) -> LayerInputs:
    """The inputs of a layer's activation function on a text."""
    return layer_inputs(model, tokenizer.encode(text)[: model.config.max_seq_len], layer)


def activations(inputs: LayerInputs, model_name: str, layer: int, kind: Activation, x: float) -> Shown:
    """Where on an activation function a trained model works: the inputs of one of its layers."""
    return Shown(inputs_figure(inputs, x, height=220), (input_shares(inputs, model_name, layer, kind),))


def gates(kind: Activation, d_model: int) -> Shown:
    """A gated layer has three matrices, so it gets two thirds of the width (arXiv:2002.05202)."""
    layers, found = compare_widths(kind, d_model)
    return Shown(matrices_figure(layers, d_model, height=260), (found,))


def unit(kind: Activation, up: float) -> Shown:
    """One unit of a gated layer over its two inputs."""
    found = gated_unit(kind)
    return Shown(unit_figure(found, up, height=340), (unit_range(found, kind),))


def slice_of_unit(kind: Activation, up: float) -> Shown:
    """One unit of a gated layer at one value of its second input, beside a plain unit."""
    found = gated_unit(kind)
    return Shown(slice_figure(found, up, height=340), (unit_slice(found, up),))


def configs(shipped: dict[str, str], own: ModelConfig, own_name: str) -> dict[str, ModelConfig]:
    """The configs of published models, of shipped ones (what they are called -> name), and of one more."""
    return published_configs() | {name: load(model)[0].config for name, model in shipped.items()} | {own_name: own}


def share(blocks: Mapping[str, BlockShare], chosen: str) -> Shown:
    """The feed-forward share of a block: two thirds in the classic shape, and more or less since."""
    figure = block_shares_figure(blocks, chosen, height=470)
    return Shown(figure, (every_share(blocks), chosen_share(blocks, chosen)))
