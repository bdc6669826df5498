"""Leave out each sublayer or block of a model in turn, and measure the loss increase of every token."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.edit_effects import divergence, next_losses, run_each
from tfcore.capture import known_names
from tfcore.config import ModelConfig
from tfcore.edits import Edit
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
