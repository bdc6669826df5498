"""Leave out each sublayer or block of a model in turn, and measure the loss increase of every token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.edit_effects import divergence, next_losses, run_each
from tfcore.config import ModelConfig
from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

PARTS = ("attn_out", "mlp_out")


@dataclass(frozen=True, slots=True)
class Skips:
    """A text with each sublayer and each block left out, one at a time.

    Args:
        skipped: the names of what is left out: a sublayer's output, or both of a block.
        harm: by how much the loss of each next token rises, in nats.
        bits: KL divergence of each prediction from that of the whole model.
    """

    skipped: tuple[tuple[str, ...], ...]
    harm: Float[ndarray, "skip next"]
    bits: Float[ndarray, "skip seq"]


@dataclass(frozen=True, slots=True)
class LossIncreases(Finding):
    """What the loss increases of all skips come to, and those of one of them.

    Args:
        means: mean loss increase of each skip, in nats per token.
        worst, worst_mean: the skip with the largest mean, and that mean.
        chosen, chosen_mean: the skip that is looked at, and its mean.
        hurt, tokens: how many tokens the chosen skip costs more than 1 nat, of how many.
    """

    means: dict[str, float]
    worst: str
    worst_mean: float
    chosen: str
    chosen_mean: float
    hurt: int
    tokens: int

    @property
    def sentence(self) -> str:
        return (
            f"Largest mean on this text: {self.worst}, {self.worst_mean:+.2f} nats per token; {self.chosen}: "
            f"{self.chosen_mean:+.2f}; tokens whose loss rises by more than 1 nat with it: "
            f"{self.hurt} of {self.tokens}."
        )


def skip_name(names: Sequence[str]) -> str:
    """blocks.2.attn_out -> "attention 2"; both sublayers of a block -> "block 2"."""
    layer = names[0].split(".")[1]
    return f"block {layer}" if len(names) > 1 else f"{'feed-forward' if 'mlp' in names[0] else 'attention'} {layer}"


def loss_increases(found: Skips, row: int) -> LossIncreases:
    """The largest mean increase of all skips, and those of the skip in `row`."""
    names = [skip_name(one) for one in found.skipped]
    means = found.harm.mean(1)
    worst = int(means.argmax())
    return LossIncreases(
        means=dict(zip(names, means.tolist(), strict=True)),
        worst=names[worst],
        worst_mean=float(means[worst]),
        chosen=names[row],
        chosen_mean=float(means[row]),
        hurt=int(np.sum(found.harm[row] > 1)),
        tokens=found.harm.shape[1],
    )


def skips(config: ModelConfig) -> tuple[tuple[str, ...], ...]:
    """What can be left out: of every layer its attention, its feed-forward layer, and the whole block."""
    known = known_names(config)
    found: list[tuple[str, ...]] = []
    for i in range(config.decoder_layers):
        parts = [name for name in (f"blocks.{i}.{part}" for part in PARTS) if name in known]
        found += [(name,) for name in parts] + ([tuple(parts)] if len(parts) > 1 else [])
    return tuple(found)


def left_out(names: Sequence[str]) -> list[Edit]:
    """What these sublayers would add becomes 0: the stream runs past them."""
    return [Edit.zero(name) for name in names]


def skip_each(model: Transformer, ids: Sequence[int]) -> Skips:
    """Run a text once for everything that can be left out."""
    every = skips(model.config)
    logits = torch.cat(list(run_each(model, ids, [(), *map(left_out, every)])))  # (1 + skip, seq, vocab)
    losses, chances = next_losses(logits, ids), logits.log_softmax(-1)
    harm, bits = losses[1:] - losses[:1], divergence(chances[:1], chances[1:])
    return Skips(every, harm.cpu().numpy(), bits.cpu().numpy())
