"""The experiments of the page on quantisation."""

from collections.abc import Sequence

from tfcore.analysis.inference.quantisation.activations import ActivationScan, outliers_of, rounding_errors
from tfcore.analysis.inference.quantisation.cache_bits import CacheEffect, cache_bits_bytes
from tfcore.analysis.inference.quantisation.gguf_block import OpenedBlock
from tfcore.analysis.inference.quantisation.losses import LossTable, Part, fewest_bits, loss_table, same_type
from tfcore.analysis.inference.quantisation.speed import TOKENS, SpeedPoint, format_speeds
from tfcore.analysis.inference.quantisation.weights import MatrixErrors, MatrixMemory, RowOnGrid
from tfcore.figures.inference.quantised_cache import channels_map, moved_figure
from tfcore.figures.inference.quantised_losses import losses_figure, speeds_figure
from tfcore.figures.inference.quantised_weights import (
    activation_errors_figure,
    block_figure,
    channels_figure,
    errors_figure,
    row_figure,
)
from tfcore.figures.shown import Shown
from tfcore.measures.one_text import first_tokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import ladder


def row(found: RowOnGrid, first: int) -> Shown:
    """A row of a weight matrix, and the grid that each group of its weights is rounded to."""
    return Shown(row_figure(found, first, height=340), (found,))


def by_layer(found: MatrixErrors, memory: MatrixMemory) -> Shown:
    """The rounding error of every matrix of a model, and the memory they take."""
    return Shown(errors_figure(found, height=120 + 30 * len(found.kinds)), (found, memory))


def channels(model_name: str, scan: ActivationScan, layer: int, first: bool) -> Shown:
    """The channels of one layer's activations, some of which are far larger than the others."""
    return Shown(channels_figure(scan, layer, first, height=280), (outliers_of(model_name, scan, layer, first),))


def activation_errors(scan: ActivationScan, bits: int, layer: int) -> Shown:
    """Activations rounded with one scale for all tokens or one for each, with and without the outlier channels."""
    return Shown(activation_errors_figure(scan, bits, layer, height=320), (rounding_errors(scan, layer, bits),))


def measured(name: str, part: Part) -> LossTable:
    """What was measured of a part of a model; `python -m tfcore.training quantisation` measures it again."""
    return loss_table(ladder.rows_of(ladder.SHIPPED / "quantisation.csv"), name, part)


def losses(table: LossTable, data_type: str) -> Shown:
    """Held-out loss against bits, for every way to share a scale."""
    figure = losses_figure(table, data_type, height=400)
    return Shown(figure, (same_type(table, data_type), fewest_bits(table)))


def block(found: OpenedBlock) -> Shown:
    """One block of a GGUF file: 32 integers of four bits on their grid, and the weights of the model."""
    return Shown(block_figure(found, height=360), (found,))


def keys(model: Transformer, tokenizer: Tokenizer, effect: CacheEffect, text: str, limit: int, what: str) -> Shown:
    """The keys (or values) of a head, by channel and token."""
    labels = tick_labels(first_tokens(model, tokenizer, text, limit).tokens)
    return Shown(channels_map(effect, labels, what, height=420), (effect.channels(what),))


def maps(model: Transformer, tokenizer: Tokenizer, effect: CacheEffect, text: str, limit: int) -> Shown:
    """How the attention weights of a head change when its keys are rounded."""
    labels = tick_labels(first_tokens(model, tokenizer, text, limit).tokens)
    size = cache_bits_bytes(effect.model, model.config, model.config.max_seq_len, effect.scheme.bits)
    return Shown(moved_figure(effect, labels, height=420), (effect, size))


def speeds(points: Sequence[SpeedPoint]) -> Shown:
    """The product of a matrix in several data types, timed on this machine."""
    few, many = (format_speeds(points, tokens) for tokens in TOKENS)
    return Shown(speeds_figure(points, height=420), (few, many))
