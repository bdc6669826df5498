"""Findings on feed-forward layers: neurons, activation functions, gated layers, and the share of a block."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.measures.block_parameters import BlockShare, LayerCost, block_share
from tfcore.measures.token_text import visible
from tfcore.part_configs import Activation
from tfcore.views.block.feedforward.measure.activation_functions import (
    ACTIVATION_NAMES,
    FLAT_SLOPE,
    PLAIN_ACTIVATIONS,
    ActivationCurves,
    LayerInputs,
    value_and_slope,
)
from tfcore.views.block.feedforward.measure.layers import GATE_NAMES, GatedUnit, share_formula
from tfcore.views.block.feedforward.measure.neurons import ActiveNeuron, Promotion
from tfcore.views.block.feedforward.measure.shares import WritingNeurons
from tfcore.views.finding import Statement, state

# ---- neurons ----


def promotion(promoted: Promotion) -> Statement:
    """The tokens that a neuron raises most at one place of a text."""
    pairs = zip(promoted.tokens[:4], promoted.lifts[:4], strict=True)
    return state(
        "promotion",
        "Neuron {layer}.{neuron} lifts {lifted} logits where its activation is {activation:.2f}.",
        layer=promoted.layer,
        neuron=promoted.neuron,
        lifted=", ".join(f"'{visible(token)}' by {lift:.2f}" for token, lift in pairs),
        activation=promoted.activation,
    )


def shapes(promoted: Promotion) -> Statement:
    """The computation of a promotion, with its shapes."""
    return state(
        "shapes",
        "Shape ({d_model}) → ({vocab:,}): column {neuron} of W_down in layer {layer}, through the final norm and the "
        "unembedding, times its activation {activation:.2f}.",
        d_model=promoted.d_model,
        vocab=promoted.vocab,
        neuron=promoted.neuron,
        layer=promoted.layer,
        activation=promoted.activation,
    )


def peak(values: Float[ndarray, " seq"], record: float, tokens: Sequence[str], layer: int, neuron: int) -> Statement:
    """Where the activations of a neuron along a text come nearest to its record, its largest in the scan; not 0."""
    at = int((values / record).argmax())
    return state(
        "peak",
        "On this text neuron {layer}.{neuron} is most active at '{token}', with {value:.2f}, {share:.0%} of its "
        "record, {record:.2f}. {tokens} tokens.",
        layer=layer,
        neuron=neuron,
        token=visible(tokens[at]),
        value=float(values[at]),
        share=float(values[at]) / record,
        record=record,
        tokens=len(tokens),
    )


def most_active(active: Sequence[ActiveNeuron], token: str, count: int = 4) -> Statement:
    """The neurons that are most active at a token, the first `count` of them."""
    named = [f"{one.layer}.{one.neuron} at {one.share:.0%} of its record" for one in active[:count]]
    return state(
        "most active", "Neurons most active at '{token}': {named}.", token=visible(token), named=", ".join(named)
    )


def writing_neurons(writing: WritingNeurons) -> Statement:
    """The neurons that write for and against the token that is expected next."""
    first, last = writing.largest[0], writing.largest[-1]
    return state(
        "writing neurons",
        "After '{token}' ({position}) the model expects '{expected}' with {probability:.1%}. The {count} largest of "
        "{total:,} shares in its logit go from {most:+.2f} (neuron {first}) to {least:+.2f} ({last}) and come to "
        "{together:+.2f}, all together to {all:+.2f}. {half} half of all that raises it.",
        token=visible(writing.token),
        position=writing.position,
        expected=visible(writing.expected),
        probability=writing.probability,
        count=len(writing.largest),
        total=writing.total,
        most=first.share,
        first=f"{first.layer}.{first.neuron}",
        least=last.share,
        last=f"{last.layer}.{last.neuron}",
        together=sum(one.share for one in writing.largest),
        all=writing.all,
        half="1 neuron makes" if writing.half == 1 else f"{writing.half:,} neurons make",
    )


def along_text(values: Float[ndarray, " seq"], tokens: Sequence[str], layer: int, neuron: int) -> Statement:
    """Where the activation of a neuron is largest, of either sign."""
    at = int(abs(values).argmax())
    return state(
        "along the text",
        "Of the {tokens} tokens neuron {layer}.{neuron} is most active at '{token}' ({position}), with {value:.2f}.",
        tokens=len(tokens),
        layer=layer,
        neuron=neuron,
        token=visible(tokens[at]),
        position=at,
        value=float(values[at]),
    )


# ---- activation functions ----


def curve_point(curves: ActivationCurves, kind: Activation, x: float, *, slope: bool) -> Statement:
    """An activation function, or its slope, at the input x, and the ends of its curve; the highest value stands at the
    end of the curve and is not told."""
    row = (curves.slope if slope else curves.value)[PLAIN_ACTIVATIONS.index(kind)]
    return state(
        "slope" if slope else "value",
        "Slope of {function} at {x:g}: {y:.4f}; lowest {lowest:.4f}, highest {highest:.4f}."
        if slope
        else "Value of {function} at {x:g}: {y:.4f}; lowest {lowest:.4f}.",
        function=ACTIVATION_NAMES[kind],
        x=x,
        y=value_and_slope(kind, x)[slope],
        lowest=float(row.min()),
        highest=float(row.max()),
    )


def gelu_difference(curves: ActivationCurves) -> Statement:
    """The largest difference between exact GELU and its approximation by tanh."""
    return state(
        "GELU by tanh", "Exact GELU and its tanh form differ by at most {largest:.5f}.", largest=curves.difference
    )


def input_shares(inputs: LayerInputs, model: str, layer: int, kind: Activation) -> Statement:
    """The shares of a layer's inputs that are negative, and at which a function has hardly any slope."""
    return state(
        "inputs",
        "In a trained model: {count:,} inputs of layer {layer} of {model} on a text, {negative:.0%} below 0. "
        "{function} has a slope under {limit} at {flat:.0%} of them.",
        count=inputs.count,
        layer=layer,
        model=model,
        negative=inputs.negative,
        function=ACTIVATION_NAMES[kind],
        limit=FLAT_SLOPE,
        flat=inputs.flat[kind],
    )


# ---- gated layers ----


def widths(layers: Sequence[tuple[str, LayerCost]], kind: Activation) -> Statement:
    """The parameters of the layers of `compare_widths`."""
    plain, matched, wide = (cost for _, cost in layers)
    return state(
        "widths",
        "FFN: {plain:,}. {gate} at {width:,} (a multiple of 8): {matched:,}, {part:.2%} of it; at 4 d: {wide:,}, "
        "{times:.0%}.",
        plain=plain.count,
        gate=GATE_NAMES[kind],
        width=matched.d_ff,
        matched=matched.count,
        part=matched.count / plain.count,
        wide=wide.count,
        times=wide.count / plain.count,
    )


def unit_range(unit: GatedUnit, kind: Activation) -> Statement:
    """The smallest and the largest output of a gated unit."""
    return state(
        "unit",
        "One {gate} unit over its two inputs: from {lowest:.1f} to {highest:.1f}.",
        gate=GATE_NAMES[kind],
        lowest=float(unit.gated.min()),
        highest=float(unit.gated.max()),
    )


def unit_slice(unit: GatedUnit, up: float) -> Statement:
    """A gated and a plain unit at the right end of the gate's inputs."""
    plain = float(unit.plain[-1])
    return state(
        "slice",
        "Where W_up x = {up:g}: at gate {gate:g} the gated unit gives {gated:.1f}, a plain one {plain:.1f}.",
        up=up,
        gate=float(unit.gate[-1]),
        gated=up * plain,
        plain=plain,
    )


# ---- share of a block ----


def formula_share(matrices: int, ratio: float, groups: float) -> Statement:
    """The feed-forward share by `share_formula`."""
    return state(
        "formula", "By the formula: {share:.1%} (without norms).", share=share_formula(matrices, ratio, groups)
    )


def chosen_share(blocks: Mapping[str, BlockShare], chosen: str) -> Statement:
    """The share of the model looked at."""
    return state(
        "chosen",
        "{model}: {feed_forward:,} of {total:,} parameters of a block, {share:.1%}.",
        model=chosen,
        feed_forward=blocks[chosen].feed_forward,
        total=blocks[chosen].total,
        share=blocks[chosen].share,
    )


def every_share(blocks: Mapping[str, BlockShare]) -> Statement:
    """The shares of all models."""
    return state(
        "every",
        "Share of the feed-forward half in one block: {shares}.",
        shares=", ".join(f"{model} {block.share:.1%}" for model, block in blocks.items()),
    )


def published_shares(blocks: Mapping[str, BlockShare]) -> Statement:
    """The shares of published models that differ in kind."""
    return state(
        "published",
        "Feed-forward share: {gpt2:.0%} in GPT-2 and {llama2:.0%} in LLaMA-2, whose layers are gated but 8/3 d wide; "
        "{llama3:.0%} in LLaMA-3 8B, with shared KV heads and a wider layer; {mixtral:.0%} in Mixtral, with eight "
        "experts; {cross:.0%} in a decoder with cross-attention, which has attention twice.",
        gpt2=blocks["GPT-2 small"].share,
        llama2=blocks["LLaMA-2 7B"].share,
        llama3=blocks["LLaMA-3 8B"].share,
        mixtral=blocks["Mixtral 8x7B"].share,
        cross=blocks["Transformer base (decoder)"].share,
    )


def feed_forward_total(config: ModelConfig) -> Statement:
    """The parameters of all blocks of a decoder, the feed-forward layers apart."""
    block = block_share(config)
    ratio = block.feed_forward / (block.total - block.feed_forward)
    return state(
        "feed-forward layers",
        "The feed-forward layers, {times}: {mine:.0f} billion of {whole:.0f} billion.",
        times="two to one" if round(ratio) == 2 else f"{ratio:.1f} to one",
        mine=config.n_layers * block.feed_forward / 1e9,
        whole=config.n_layers * block.total / 1e9,
    )
