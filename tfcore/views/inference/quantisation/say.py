"""Findings on rounded weights, activations and caches, on the losses with them, and on the time of a product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.config import ModelConfig
from tfcore.measures.kv_bytes import cache_bytes, cache_shape
from tfcore.measures.quantisation.rounded_activations import OUTLIER
from tfcore.measures.quantities import counted
from tfcore.measures.statistics import ratio
from tfcore.measures.timing import milliseconds
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inference.quantisation.measure.activations import OUTLIER_TEXT, ActivationScan
from tfcore.views.inference.quantisation.measure.cache_rounding import CacheEffect, rounded_cache_bytes
from tfcore.views.inference.quantisation.measure.gguf_block import BLOCK, OpenedBlock
from tfcore.views.inference.quantisation.measure.losses import (
    HOW,
    PARTS,
    SMALL_TEXT,
    TEXTS,
    LossTable,
    fewest_bits,
    same_type,
)
from tfcore.views.inference.quantisation.measure.speed import SpeedPoint
from tfcore.views.inference.quantisation.measure.weights import MatrixErrors, MatrixMemory, RowOnGrid
from tfcore.views.inference.quantisation.measure.written import GreedyContinuations

# ---- weights ----


def row(model: str, rounded: RowOnGrid) -> Statement:
    """The error of a row of weights, and how many of their values are left."""
    return state(
        "row",
        "Row {row} of W_{kind} in layer {layer} of {model} as {scheme}: {bits:.2f} bits per weight, RMS error "
        "{error:percent} of the weights' RMS, at most {largest:.2g}. {before:whole} different values become "
        "{after:whole}; {zeros:percent} of the weights become 0.",
        row=rounded.row,
        kind=rounded.kind,
        layer=rounded.layer,
        model=model,
        scheme=rounded.scheme,
        bits=rounded.bits,
        error=rounded.error,
        largest=rounded.largest,
        before=len(np.unique(rounded.values)),
        after=rounded.distinct,
        zeros=rounded.zeros,
    )


def matrices(model: str, matrix_errors: MatrixErrors) -> Statement:
    """The matrices with the largest and the smallest error."""
    (layer, kind, most), (low_layer, low_kind, least) = matrix_errors.worst, matrix_errors.best
    return state(
        "matrices",
        "{model} as {scheme}: the RMS error is largest in W_{kind} of layer {layer}, {most:percent} of the weights' "
        "RMS, smallest in W_{low_kind} of layer {low_layer}, {least:percent}; on average {mean:percent}.",
        model=model,
        scheme=matrix_errors.scheme,
        kind=kind,
        layer=layer,
        most=most,
        low_kind=low_kind,
        low_layer=low_layer,
        least=least,
        mean=float(matrix_errors.errors.mean()),
    )


def memory(used: MatrixMemory) -> Statement:
    """Bytes of all matrices, rounded and not."""
    return state(
        "memory",
        "These matrices have {weights:short} weights: {plain:size} in float32, {stored:size} in this scheme "
        "({bits:.2f} bits per weight).",
        weights=used.weights,
        plain=used.plain,
        stored=used.stored,
        bits=used.bits,
    )


def block(opened_block: OpenedBlock) -> Statement:
    """The numbers of a block, and whether the model computes with exactly its values."""
    same = "the weights that the model computes with are exactly these"
    off = "the weights that the model computes with differ from these by up to {difference:.1g}"
    return state(
        "block",
        "{where}, row {row}, block {place}: {size} bytes for {weights} weights, {bits:g} bits per weight. Scale "
        "{scale:.5f}, minimum {minimum:.4f}; the integers use {used} of 16 values; "
        f"{off if opened_block.difference else same}.",
        where=opened_block.where,
        row=opened_block.row,
        place=opened_block.place,
        size=len(opened_block.content),
        weights=BLOCK,
        bits=8 * len(opened_block.content) / BLOCK,
        scale=opened_block.scale,
        minimum=opened_block.minimum,
        used=len(set(opened_block.codes.tolist())),
        difference=opened_block.difference,
    )


# ---- activations ----


@dataclass(frozen=True, slots=True)
class OutlierChannels(Finding):
    """The channels of one layer's activations.

    Args:
        channel, largest: the one with the largest magnitude.
        median: of all channels' largest magnitudes.
        outliers: how many reach OUTLIER.
        channels: in all.
        first: whether the first token counts.
    """

    model: str
    layer: int
    kind: str
    channel: int
    largest: float
    median: float
    outliers: int
    channels: int
    first: bool

    @property
    def sentence(self) -> str:
        without = "" if self.first else ", the first token left out"
        times = f"{self.largest / self.median:,.0f} times" if self.median else "against"
        return (
            f"What W_{self.kind} of layer {self.layer} of {self.model} is multiplied with{without}: channel "
            f"{self.channel} reaches {self.largest:,.1f}, {times} the median channel ({self.median:.2f}); "
            f"{self.outliers} of {self.channels:,} channels reach {OUTLIER_TEXT}."
        )


def outliers(model: str, scan: ActivationScan, layer: int, first: bool) -> OutlierChannels:
    """The largest channel of a layer beside the others."""
    values = (scan.largest if first else scan.without_first)[layer]
    channel = int(values.argmax())
    return OutlierChannels(
        model,
        layer,
        scan.kind,
        channel,
        float(values[channel]),
        float(np.median(values)),
        int((values >= OUTLIER).sum()),
        len(values),
        first,
    )


def rounding_errors(scan: ActivationScan, layer: int, bits: int) -> Statement:
    """The relative error of the activations in one layer, for each way to round them."""
    return state(
        "rounding errors",
        "Rounded to int{bits}, the input of W_{kind} in layer {layer} is off by: {errors:each percent}.",
        bits=bits,
        kind=scan.kind,
        layer=layer,
        errors={way: float(error[layer]) for way, error in scan.errors[bits].items()},
    )


# ---- losses ----


def same_losses(table: LossTable, data_type: str) -> Statement:
    """The losses with one data type."""
    return state(
        "one data type",
        "The loss with {data_type}: {losses:each .2f}.",
        data_type=data_type,
        losses=same_type(table, data_type),
    )


@dataclass(frozen=True, slots=True)
class FewestBits(Finding):
    """For each way to share a scale, the fewest bits at which the loss is nearly that of the unrounded model.

    Args:
        best: way -> data type and loss; None where no data type comes near enough.
    """

    table: LossTable
    best: Mapping[str, tuple[str, float] | None]

    @property
    def sentence(self) -> str:
        words = "; ".join(
            f"{HOW[how]}: {'none' if best is None else f'{best[0]} ({best[1]:.3f})'}" for how, best in self.best.items()
        )
        table = self.table
        return (
            f"{table.model} has a loss of {table.unrounded:.3f} nats per token on {table.tokens:,} tokens of "
            f"{TEXTS[table.text]}. The fewest bits of an integer type with which rounded {PARTS[table.part]} raise it "
            f"by at most {SMALL_TEXT}: {words}."
        )


def fewest(table: LossTable) -> FewestBits:
    """The smallest integer type of each way whose loss is near that of the model."""
    return FewestBits(table, fewest_bits(table))


def whole_model(table: LossTable, data_type: str) -> Statement:
    """The losses with one data type, for a picture of a part of the model."""
    return state(
        "whole model",
        "Measured with all layers of {model} rounded ({part}), {unrounded:.2f} nats per token as it is. {losses}",
        model=table.model,
        part=PARTS[table.part],
        unrounded=table.unrounded,
        losses=same_losses(table, data_type),
    )


def written(compared: GreedyContinuations) -> Statement:
    """How far the texts of rounded weights are that of the model as it is."""
    return state(
        "written",
        "Of {tokens} tokens that the model writes, so many are the same before the first that differs when the weights "
        "are {data_type}: {agree:each d}.",
        tokens=len(compared.plain),
        data_type=compared.format,
        agree={HOW[how]: compared.agrees(how) for how in compared.ways},
    )


# ---- the cache ----


def spread(effect: CacheEffect, what: str) -> Statement:
    """How far the largest channel and the largest token of the keys (or values) stand out."""
    numbers = np.abs(effect.keys if what == "keys" else effect.values)
    by_channel, by_token = numbers.max(0), numbers.max(1)
    return state(
        "spread",
        "{what}: channel {channel} reaches {by_channel:.1f} times the largest magnitude of the median channel; the "
        "largest token reaches {by_token:.1f} times that of the median token.",
        what=what.capitalize(),
        channel=int(by_channel.argmax()),
        by_channel=ratio(float(by_channel.max()), float(np.median(by_channel))),
        by_token=ratio(float(by_token.max()), float(np.median(by_token))),
    )


def rounded_head(model: str, effect: CacheEffect) -> Statement:
    """The effect of rounded keys and values on a head."""
    return state(
        "rounded head",
        "Layer {layer}, head {head} of {model} with a cache in {scheme}: keys are off by {keys:percent}, values by "
        "{values:percent} (RMS); {moved:percent} of the attention weight goes to other tokens, and the head's output "
        "is off by {output:percent}.",
        layer=effect.layer,
        head=effect.head,
        model=model,
        scheme=effect.scheme,
        keys=effect.keys_error,
        values=effect.values_error,
        moved=effect.moved,
        output=effect.output_error,
    )


def cache_size(model: str, config: ModelConfig, bits: int) -> Statement:
    """Bytes of the cache of a whole context, rounded and not."""
    shape, tokens = cache_shape(config), config.max_seq_len
    plain, rounded = cache_bytes(shape, tokens), rounded_cache_bytes(shape, tokens, bits)
    return state(
        "cache size",
        "{tokens:whole} tokens of {model} take {plain:bytes} in float16 and {rounded:bytes} in int{bits} with its "
        "scales and minimums: {times:.1f} times less.",
        tokens=tokens,
        model=model,
        plain=plain,
        rounded=rounded,
        bits=bits,
        times=plain / rounded,
    )


# ---- times ----


@dataclass(frozen=True, slots=True)
class FormatSpeeds(Finding):
    """Times and bytes of the data types beside float32.

    Args:
        tokens: that the matrix is multiplied with at once.
        float32: seconds of the product in float32; nan where it is not known yet.
        others: name -> seconds over those of float32, and bytes of the matrix over those of float32.
    """

    tokens: int
    float32: float
    others: dict[str, tuple[float, float]]

    @property
    def sentence(self) -> str:
        if not self.others:
            return "Nothing to compare yet."
        words = "; ".join(
            f"{name}: {size:.0%} of the memory, {1 / time:.1f} times as fast"
            if time <= 1
            else f"{name}: {size:.0%} of the memory, {time:.1f} times slower"
            for name, (time, size) in self.others.items()
        )
        return (
            f"With {counted(self.tokens, 'token')} the product in float32 takes {milliseconds(self.float32)}; {words}."
        )


def speeds(points: Sequence[SpeedPoint], tokens: int) -> FormatSpeeds:
    """Compare the data types that were measured so far."""
    own = [point for point in points if point.tokens == tokens]
    plain = next((point for point in own if point.name == "float32"), None)
    if plain is None:
        return FormatSpeeds(tokens, float("nan"), {})
    others = {p.name: (p.seconds / plain.seconds, p.stored / plain.stored) for p in own if p is not plain}
    return FormatSpeeds(tokens, plain.seconds, others)
