"""The experiments of the page on residual connections."""

import numpy as np

from tfcore import load
from tfcore.analysis.block.depth import Deep, Placement, activations, probe
from tfcore.analysis.block.dropping import drop, two_passes
from tfcore.analysis.block.paths import continue_without, every_subset, names
from tfcore.config import Init
from tfcore.figures.block.depth import Line, curves_figure
from tfcore.figures.block.paths import dropped_figure, paths_figure
from tfcore.figures.theme import Figure


def gradients(depths: list[int], init: Init) -> Figure:
    """How much of the gradient reaches the first layer of networks of every depth, with the skip and without."""
    wirings: tuple[tuple[Placement, bool], ...] = (("pre", True), ("post", True), ("pre", False), ("none", False))
    lines: list[Line] = []
    for placement, skip in wirings:
        name = f"norm: {placement}, {'skip' if skip else 'no skip'}"
        networks = [Deep(n_layers=n, placement=placement, skip=skip, init=init) for n in depths]
        first = np.array([probe(network).gradient[0] for network in networks])
        print(name, ", ".join(f"{n} layers {gradient:.2g}" for n, gradient in zip(depths, first, strict=True)))
        lines.append(Line(name, f"@cat{len(lines)}", np.array(depths), first))

    return curves_figure(
        lines, x_title="layers of the network", y_title="gradient of the first layer", height=360, log_x=True
    )


def starts(n_layers: int, placement: Placement, skip: bool, ways: dict[str, tuple[Init, float]]) -> Figure:
    """How the size of the stream grows through a network, for each way to draw the first weights."""
    lines: list[Line] = []
    for name, (init, std) in ways.items():
        network = Deep(n_layers=n_layers, placement=placement, skip=skip, init=init, init_std=std)
        sizes = activations(network)
        print(f"{name}: {sizes[0]:.3g} before the first layer, {sizes[-1]:.3g} after the last")
        lines.append(Line(name, f"@cat{len(lines)}", np.arange(n_layers + 1), sizes))

    return curves_figure(lines, x_title="after layer", y_title="std of the stream", height=400)


def skipped(model_name: str, text: str, tokens: int, without: tuple[int, ...], new_tokens: int) -> Figure:
    """Leave sublayers of a trained model out, in every combination (arXiv:1605.06431)."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    result = every_subset(model, ids)
    sublayers = names(model.config.n_layers)
    print("left out:", ", ".join(sublayers[s] for s in without) or "nothing")
    print(f"loss {result.loss[result.row(without)]:.2f} nats per token, of the whole model {result.loss[-1]:.2f}")
    print(f"it writes: {tokenizer.decode(continue_without(model, ids, without, new_tokens))}")

    return paths_figure(result, result.row(without))


def dropout(model_name: str, text: str, tokens: int, layer: int, p: float, training: bool, seed: int) -> Figure:
    """Dropout (arXiv:1207.0580): some numbers become 0, the others larger, and the mean stays."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    result = drop(model, ids, f"blocks.{layer}.mlp_out", p, training, seed)
    print(f"{result.kept.sum()} of {len(result.before)} numbers are kept")
    print(f"mean {result.mean:.5f} before, {result.means.mean():.5f} after it, over {len(result.means):,} draws")
    print(f"two passes of one text differ by up to {two_passes(p, training):.2g}")

    return dropped_figure(result)
