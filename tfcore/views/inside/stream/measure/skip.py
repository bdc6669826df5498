"""The loss of a text with a sublayer or a block skipped: the residual stream runs past it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names, layer_of, sublayer
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import logits_of
from tfcore.measures.interventions import EditedRun, Effect, effect_between, run_edited
from tfcore.measures.shared_layers import PlainRun, plain_run, runs_by_layer
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer
from tfcore.views.inside.stream.measure.text import read_of
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened


def part_name(config: ModelConfig, name: str, short: bool = False) -> str:
    """blocks.2.attn_out -> "attention 2", short "attn 2"; blocks.2.mlp_out -> "feed-forward 2", short "FF 2". What is
    there in the place of attention is a "mixer"."""
    layer = layer_of(name)
    if "mlp" in name:
        return f"{'FF' if short else 'feed-forward'} {layer}"
    return f"{sublayer(config, layer, short)} {layer}"


PARTS = ("attn_out", "mlp_out")  # what a block writes


@dataclass(frozen=True, slots=True)
class Skips:
    """The loss increase of every token of a text when one sublayer or block is skipped.

    Args:
        skipped: activations that are set to zero: a sublayer's output, or both of a block.
        loss_increase: of each next token, in nats.
    """

    skipped: tuple[tuple[str, ...], ...]
    loss_increase: Float[ndarray, "skip next"]


def skips(config: ModelConfig) -> tuple[tuple[str, ...], ...]:
    """Activations that can be skipped: of every layer its attention, its feed-forward layer, and the whole block."""
    known = known_names(config)
    groups: list[tuple[str, ...]] = []
    for i in range(config.decoder_layers):
        parts = [name for name in (f"blocks.{i}.{part}" for part in PARTS) if name in known]
        groups += [(name,) for name in parts] + ([tuple(parts)] if len(parts) > 1 else [])
    return tuple(groups)


def skip_edits(names: Sequence[str]) -> list[Edit]:
    """Edits that set what these sublayers add to the stream to zero."""
    return [Edit.zero(name) for name in names]


class SkipsOfLayer(NamedTuple):
    """The loss increases with each skip of one layer, in the order of `skips`."""

    layer: int
    loss_increase: Float[ndarray, "skip next"]


@torch.no_grad()
def skip_each(model: Transformer, ids: Sequence[int]) -> Iterator[SkipsOfLayer]:
    """Every skip of a model in turn, on one text, layer by layer; the layers below a skipped one are run once."""
    run = plain_run(model, ids)
    whole = next_losses(logits_of(model, run.hidden), ids)  # (1, next)
    every = skips(model.config)
    sets = [
        [skip_edits(names) for names in every if set(map(layer_of, names)) == {layer}]
        for layer in range(model.config.decoder_layers)
    ]
    for layer, hidden in runs_by_layer(model, run, sets):
        losses = [next_losses(logits_of(model, row[None]), ids) for row in hidden]  # one by one: many logits
        yield SkipsOfLayer(layer, (torch.cat(losses) - whole).cpu().numpy())


def all_skips(config: ModelConfig, so_far: Sequence[SkipsOfLayer]) -> Skips:
    """The skips of all layers; NaN in those that are not among those measured."""
    every, (first, *_) = skips(config), so_far
    loss_increase = np.full((len(every), first.loss_increase.shape[1]), np.nan, dtype=np.float32)
    for one in so_far:
        rows = [row for row, names in enumerate(every) if set(map(layer_of, names)) == {one.layer}]
        loss_increase[rows] = one.loss_increase
    return Skips(every, loss_increase)


def skip_name(config: ModelConfig, names: Sequence[str]) -> str:
    """blocks.2.attn_out -> "attention 2"; both sublayers of a block -> "block 2"."""
    first, *more = names
    return f"block {layer_of(first)}" if more else part_name(config, first)


def _each(reading: Reading) -> list[SkipsOfLayer]:
    return list(skip_each(opened(reading.model)[0], read_of(reading).ids))


def _plain(reading: Reading) -> PlainRun:
    return plain_run(opened(reading.model)[0], read_of(reading).ids)


def _run(reading: Reading, names: tuple[str, ...]) -> EditedRun:
    return run_edited(opened(reading.model)[0], plain_of(reading), skip_edits(names))


def _effect(reading: Reading, position: int, names: tuple[str, ...]) -> Effect:
    return effect_between(opened(reading.model)[0], run_of(reading, ()), run_of(reading, names), position)


each_of = kept(_each, entries=12)
plain_of = kept(_plain, entries=6)  # from which edited runs begin: 9 MB of 128 tokens of smollm2
run_of = kept(_run, entries=32)  # for every position: 0.3 MB of 128 tokens of smollm2
effect_of = kept(_effect, entries=256)


def skip_titles(config: ModelConfig) -> list[str]:
    """The names of all skips of a model."""
    return [skip_name(config, names) for names in skips(config)]
