"""Skipped layers: each sublayer or block of a model left out in turn, and the loss increase of every token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.interventions import divergence, next_losses, run_each
from tfcore.analysis.inside.residual_stream import part_name
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
        bits: KL divergence of each prediction from that of the whole model.
    """

    skipped: tuple[tuple[str, ...], ...]
    loss_increase: Float[ndarray, "skip next"]
    bits: Float[ndarray, "skip seq"]


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


def skip_each(model: Transformer, ids: Sequence[int]) -> Skips:
    """Every skip of a model in turn, on one text."""
    every = skips(model.config)
    logits = torch.cat(list(run_each(model, ids, [(), *map(skip_edits, every)])))  # (1 + skip, seq, vocab)
    losses, log_probability = next_losses(logits, ids), logits.log_softmax(-1)
    loss_increase = losses[1:] - losses[:1]
    bits = divergence(log_probability[:1], log_probability[1:])
    return Skips(every, loss_increase.cpu().numpy(), bits.cpu().numpy())


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LossIncreases(Finding):
    """The largest mean loss increase of all skips, and that of one of them.

    Args:
        worst, worst_mean: the skip with the largest mean, and that mean, in nats per token.
        chosen, chosen_mean: the skip that is looked at, and its mean.
        raised, tokens: how many tokens have a loss more than 1 nat higher with the chosen skip, of how many.
    """

    worst: str
    worst_mean: float
    chosen: str
    chosen_mean: float
    raised: int
    tokens: int

    @property
    def sentence(self) -> str:
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
    worst = int(means.argmax())
    return LossIncreases(
        worst=names[worst],
        worst_mean=float(means[worst]),
        chosen=names[row],
        chosen_mean=float(means[row]),
        raised=int(np.sum(found.loss_increase[row] > 1)),
        tokens=found.loss_increase.shape[1],
    )
