"""The experiments of the page on the feed-forward layer."""

from tfcore import load
from tfcore.analysis.block.activation_functions import at, curves, layer_inputs
from tfcore.analysis.block.feed_forward_widths import block_share, gated_unit, layer_cost
from tfcore.analysis.block.neuron_scan import load_scan
from tfcore.analysis.block.neurons import effect, snippets, text_activations
from tfcore.config import Activation, ModelConfig
from tfcore.figures.block.feedforward import inputs_figure, shares_figure, unit_figure
from tfcore.figures.block.neurons import text_figure
from tfcore.figures.theme import Figure
from tfcore.presets import PRESETS


def neuron(model_name: str, layer: int, neuron: int, side: int, text: str, token: int) -> Figure:
    """One neuron as a small rule: what excites it, and what it writes then (arXiv:2012.14913)."""
    model, tokenizer = load(model_name)
    scan = load_scan(model_name)  # the texts that excite each neuron most, kept beside the model
    strongest = snippets(model, scan, layer, neuron, side)[0]
    found = effect(model, layer, neuron, strongest)
    print(f"activation {found.activation:.2f} at the end of {tokenizer.decode(strongest.ids[: strongest.peak + 1])!r}")
    lifted = tokenizer.tokens((-found.lift).argsort(kind="stable")[:8].tolist())
    print(f"it lifts {', '.join(map(repr, lifted))}")
    if found.followed is not None:
        print(f"what comes next there: {found.with_it:.1%} likely, {found.without_it:.1%} with this neuron off")

    ids = tokenizer.encode(text)[: model.config.max_seq_len]
    values = text_activations(model, ids)[layer, :, neuron]
    record = float(scan.value[layer, neuron, side, 0]) or 1.0
    return text_figure(values, tokenizer.tokens(ids), token, record, height=330)


def activations(model_name: str, text: str, layer: int, kind: Activation, x: float) -> Figure:
    """Non-linearities and their slopes, and where on them a trained model works."""
    value, slope = at(kind, x)
    print(f"{kind}({x:g}) = {value:.4f}, slope {slope:.4f}")
    print(f"exact GELU and its tanh form differ by at most {curves().difference:.5f}")
    model, tokenizer = load(model_name)
    inputs = layer_inputs(model, tokenizer.encode(text)[: model.config.max_seq_len], layer)
    print(f"{inputs.count:,} inputs of layer {layer}: {inputs.negative:.0%} below 0; flat at {inputs.flat[kind]:.0%}")

    return inputs_figure(inputs, x, height=220)


def gates(kind: Activation, d_model: int, up: float) -> Figure:
    """A gated layer has three matrices, so it gets two thirds of the width (arXiv:2002.05202)."""
    layers = {
        "FFN, 4 d": layer_cost("relu", d_model),
        f"{kind}, 8/3 d": layer_cost(kind, d_model),
        f"{kind}, 4 d": layer_cost(kind, d_model, 4 * d_model),
    }
    for name, cost in layers.items():
        print(f"{name}: d_ff {cost.d_ff:,}, {cost.matrices} matrices, {cost.count:,} parameters")

    return unit_figure(gated_unit(kind), up, height=340)


def share(presets: dict[str, str], own: ModelConfig, chosen: str) -> Figure:
    """How much of a block is feed-forward: two thirds in the classic shape, and more or less since."""
    configs = {name: PRESETS[preset]() for name, preset in presets.items()}
    configs |= {"stories (ours)": load("stories")[0].config, "your own": own}
    shares = [(name, block_share(config)) for name, config in configs.items()]
    for name, found in shares:
        print(f"{name}: {found.feed_forward:,} of {found.total:,} parameters of a block, {found.share:.1%}")

    return shares_figure(shares, chosen, height=470)
