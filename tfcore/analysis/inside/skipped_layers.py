"""Skipped layers: each sublayer or block of a model left out in turn, and the loss increase of every token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.interventions import next_losses
from tfcore.analysis.inside.quantities import logits_of
from tfcore.analysis.inside.residual_stream import part_name
from tfcore.analysis.inside.shared_layers import plain_run, run_above
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

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
    """What can be skipped: of every layer its attention, its feed-forward layer, and the whole block."""
    known = known_names(config)
    found: list[tuple[str, ...]] = []
    for i in range(config.decoder_layers):
        parts = [name for name in (f"blocks.{i}.{part}" for part in PARTS) if name in known]
        found += [(name,) for name in parts] + ([tuple(parts)] if len(parts) > 1 else [])
    return tuple(found)


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
    for layer in range(model.config.decoder_layers):
        sets = [skip_edits(names) for names in every if names[0].startswith(f"blocks.{layer}.")]
        hidden = torch.cat(list(run_above(model, run, layer, sets)))
        losses = [next_losses(logits_of(model, row[None]), ids) for row in hidden]  # one by one: many logits
        yield SkipsOfLayer(layer, (torch.cat(losses) - whole).cpu().numpy())


def all_skips(config: ModelConfig, found: Sequence[SkipsOfLayer]) -> Skips:
    """The skips of all layers; NaN in those that are not among those found."""
    every = skips(config)
    loss_increase = np.full((len(every), found[0].loss_increase.shape[1]), np.nan, dtype=np.float32)
    for one in found:
        rows = [row for row, names in enumerate(every) if names[0].startswith(f"blocks.{one.layer}.")]
        loss_increase[rows] = one.loss_increase
    return Skips(every, loss_increase)


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LossIncreases(Finding):
    """The largest mean loss increase of all skips, and that of one of them.

    Args:
        worst, worst_mean: the skip with the largest mean, and that mean, in nats per token; of those measured.
        chosen, chosen_mean: the skip that is looked at, and its mean; None where it is not measured yet.
        raised, tokens: how many tokens have a loss more than 1 nat higher with the chosen skip, of how many.
    """

    worst: str
    worst_mean: float
    chosen: str
    chosen_mean: float | None
    raised: int
    tokens: int

    @property
    def sentence(self) -> str:
        if self.chosen_mean is None:
            return (
                f"Largest mean on this text until now: {self.worst}, {self.worst_mean:+.2f} nats per token; "
                f"{self.chosen} is not measured yet."
            )
        return (
            f"Largest mean on this text: {self.worst}, {self.worst_mean:+.2f} nats per token; {self.chosen}: "
            f"{self.chosen_mean:+.2f}; tokens whose loss rises by more than 1 nat with it: "
            f"{self.raised} of {self.tokens}."
        )


def skip_name(names: Sequence[str]) -> str:
    """blocks.2.attn_out -> "attention 2"; both sublayers of a block -> "block 2"."""
    return f"block {names[0].split('.')[1]}" if len(names) > 1 else part_name(names[0])


def loss_increases(found: Skips, row: int) -> LossIncreases:
    """The largest mean increase of all skips, and those of the skip in `row`."""
    names = [skip_name(one) for one in found.skipped]
    means = found.loss_increase.mean(1)
    worst = int(np.nanargmax(means))
    return LossIncreases(
        worst=names[worst],
        worst_mean=float(means[worst]),
        chosen=names[row],
        chosen_mean=None if np.isnan(means[row]) else float(means[row]),
        raised=int(np.sum(found.loss_increase[row] > 1)),
        tokens=found.loss_increase.shape[1],
    )
