"""The experiments of the page on residual connections."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.block.ablation_and_dropout import (
    DropoutDraws,
    SubsetLosses,
    chosen_subset,
    continue_without,
    draw_dropout,
    dropout_count,
    dropout_means,
    every_subset,
)
from tfcore.analysis.block.depth_findings import first_gradients, rank_collapse, stream_growth
from tfcore.figures.block.ablation_and_dropout import dropout_figure, dropout_means_figure, subsets_figure
from tfcore.figures.depth_curves import (
    LARGEST_NUMBERS,
    SMALLEST_NUMBERS,
    START_COLOURS,
    WIRING_COLOURS,
    Line,
    depth_figure,
    layers_figure,
)
from tfcore.figures.shown import Shown
from tfcore.measures.deep_networks import DepthProbe
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def gradients(probes: Mapping[str, Sequence[DepthProbe]]) -> Shown:
    """How much of the gradient reaches the first layer of networks of every depth, with the skip and without."""
    lines = [
        Line(
            name,
            WIRING_COLOURS[name],
            np.array([len(probed.gradient) for probed in found]),
            np.array([probed.gradient[0] for probed in found]),
        )
        for name, found in probes.items()
    ]
    figure = depth_figure(
        lines,
        x_title="layers of the network",
        y_title="gradient of the first layer",
        height=360,
        log_x=True,
        limits=SMALLEST_NUMBERS,
    )
    return Shown(figure, (first_gradients(probes),))


def layer_by_layer(probes: Mapping[str, DepthProbe]) -> Shown:
    """Gradient, size of the stream and likeness of the tokens in each layer of networks of one depth."""
    columns = {}
    for name, probed in probes.items():
        layers, places = np.arange(1, len(probed.gradient) + 1), np.arange(len(probed.activation))
        columns[name] = [
            Line("gradient", WIRING_COLOURS[name], layers, probed.gradient),
            Line("activation", WIRING_COLOURS[name], places, probed.activation),
            Line("likeness", WIRING_COLOURS[name], places, probed.alike),
        ]
    return Shown(layers_figure(columns, ("gradient", "activation", "likeness"), height=500), (rank_collapse(probes),))


def starts(sizes: Mapping[str, Float[ndarray, " place"]], wiring: str) -> Shown:
    """How the size of the stream grows through a network, for each choice of initial weights."""
    lines = [Line(start, START_COLOURS[start], np.arange(len(places)), places) for start, places in sizes.items()]
    limits = (*LARGEST_NUMBERS, *SMALLEST_NUMBERS)
    figure = depth_figure(lines, x_title="after layer", y_title="std of the stream", height=400, limits=limits)
    return Shown(figure, (stream_growth(sizes, wiring),))


def subsets(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> SubsetLosses:
    """The losses of the first tokens of a text with every set of sublayers left out."""
    return every_subset(model, tokenizer.encode(text)[: min(limit, model.config.max_seq_len)])


def continuation(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, without: tuple[int, ...], new_tokens: int
) -> str:
    """The greedy continuation of the first tokens of a text, by a model without these sublayers."""
    ids = tokenizer.encode(text)[: min(limit, model.config.max_seq_len)]
    return tokenizer.decode(continue_without(model, ids, without, new_tokens))


def skipped(losses: SubsetLosses, without: tuple[int, ...]) -> Shown:
    """Leave sublayers of a trained model out, in every combination (arXiv:1605.06431)."""
    figure = subsets_figure(losses, losses.row(without), height=430)
    return Shown(figure, (chosen_subset(losses, without),))


def draws(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, layer: int, p: float, training: bool, seed: int
) -> DropoutDraws:
    """Dropout on what a feed-forward layer adds for the last token of a text."""
    ids = tokenizer.encode(text)[: min(limit, model.config.max_seq_len)]
    return draw_dropout(model, ids, f"blocks.{layer}.mlp_out", p, training, seed)


def dropout(draws: DropoutDraws, model_name: str, layer: int, p: float, training: bool) -> Shown:
    """Dropout (arXiv:1207.0580): some numbers become 0, the others larger, and the mean stays."""
    found = dropout_count(draws, p, training, layer, model_name), dropout_means(draws)
    return Shown(dropout_figure(draws, height=290), found)


def means(draws: DropoutDraws) -> Shown:
    """The means of many draws of dropout, beside the theory."""
    return Shown(dropout_means_figure(draws, height=290), (dropout_means(draws),))
