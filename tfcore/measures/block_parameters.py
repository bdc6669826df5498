"""The parameters of one feed-forward layer, and of one block."""

from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import GATED, Activation, AttentionConfig, FeedForwardConfig


@dataclass(frozen=True, slots=True)
class LayerCost:
    """The parameters of one feed-forward layer.

    Args:
        activation: its activation function.
        d_ff: hidden width.
        matrices: 2, or 3 when gated; each of d_model * d_ff weights.
        count: parameters, from tfcore.measures.parameter_count.
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
    config = ModelConfig(
        vocab_size=1,
        d_model=d_model,
        n_layers=1,
        attention=AttentionConfig(n_heads=1),
        feed_forward=FeedForwardConfig(activation=activation, d_ff=d_ff),
    )
    count = parameters(config).by_layer["blocks.0"]["feed-forward"]
    return LayerCost(activation, config.ff_size, 3 if activation in GATED else 2, count)


@dataclass(frozen=True, slots=True)
class BlockShare:
    """The parameters of one block.

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
        """The feed-forward layer's share of the block's parameters."""
        return self.feed_forward / self.total


def block_share(config: ModelConfig) -> BlockShare:
    """The parameters of the last block of a model; of the decoder, where there are two stacks."""
    counts = list(parameters(config).by_layer.values())[-1]
    attention = sum(counts.get(name, 0) for name in ("attention", "cross-attention"))
    norms = counts["norms"]
    return BlockShare(attention, sum(counts.values()) - attention - norms, norms)
