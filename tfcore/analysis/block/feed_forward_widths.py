"""How wide a feed-forward layer may be for its parameters, what a gated unit computes, and its share of a block."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.model.parameter_count import parameters
from tfcore.config import GATED, Activation, ModelConfig
from tfcore.feedforward import ACTIVATIONS

LIMIT, POINTS = 4.0, 81


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One feed-forward layer.

    Args:
        activation: its non-linearity.
        d_ff: hidden width.
        matrices: 2, or 3 when gated; each of d_model * d_ff weights.
        count: parameters, from tfcore.analysis.model.parameter_count.
    """

    activation: Activation
    d_ff: int
    matrices: int
    count: int


def layer_cost(activation: Activation, d_model: int, d_ff: int | None = None) -> LayerCost:
    """The parameters of one feed-forward layer without biases.

    Args:
        d_ff: None means what the config takes: 4 d_model, or 8/3 d_model rounded up to a multiple of 8 when gated, so
            that three matrices have as many weights as two had (arXiv:2002.05202, section 2).
    """
    config = ModelConfig(vocab_size=1, d_model=d_model, n_layers=1, n_heads=1, activation=activation, d_ff=d_ff)
    count = parameters(config).by_layer["blocks.0"]["feed-forward"]
    return LayerCost(activation, config.ff_size, 3 if activation in GATED else 2, count)


@dataclass(frozen=True, slots=True)
class Unit:
    """One hidden unit over its two inputs.

    Args:
        gate, up: what the two matrices give for a token.
        gated: act(gate) * up, at (up, gate).
        plain: act(gate), which knows no second input.
    """

    gate: Float[ndarray, " gate"]
    up: Float[ndarray, " up"]
    gated: Float[ndarray, "up gate"]
    plain: Float[ndarray, " gate"]


def gated_unit(activation: Activation) -> Unit:
    """A unit of a gated layer: act(gate) * up (arXiv:2002.05202, eq. 5)."""
    inputs = torch.linspace(-LIMIT, LIMIT, POINTS)
    plain = ACTIVATIONS[activation](inputs)
    gated = plain[None, :] * inputs[:, None]  # (up, gate)
    return Unit(inputs.numpy(), inputs.numpy(), gated.numpy(), plain.numpy())


@dataclass(frozen=True, slots=True)
class BlockShare:
    """What the parameters of one block are.

    Args:
        attention: all attention layers of the block.
        feed_forward: the feed-forward layer, or the experts with their router.
        norms: the rest.
    """

    attention: int
    feed_forward: int
    norms: int

    @property
    def total(self) -> int:
        return self.attention + self.feed_forward + self.norms

    @property
    def share(self) -> float:
        """Of the feed-forward half."""
        return self.feed_forward / self.total


def block_share(config: ModelConfig) -> BlockShare:
    """Count the last block of a config's model, of the decoder where there are two stacks."""
    counts = list(parameters(config).by_layer.values())[-1]
    attention = sum(counts.get(name, 0) for name in ("attention", "cross-attention"))
    norms = counts["norms"]
    return BlockShare(attention, sum(counts.values()) - attention - norms, norms)


def share_formula(matrices: int, ratio: float, groups: float) -> float:
    """m r / (m r + 2 + 2 g): m matrices of width r = d_ff / d_model, g = key/value heads per query head.

    Attention has W_Q and W_O of d^2 and W_K and W_V of g d^2 weights. With m r = 8 and g = 1 that is 8 / 12 = 2/3.
    """
    return matrices * ratio / (matrices * ratio + 2 + 2 * groups)
