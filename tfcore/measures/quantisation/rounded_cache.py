"""Keys and values rounded to few bits in the cache."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.capture import scored
from tfcore.inspection.edits import Edit
from tfcore.measures.quantisation.formats import quantise_minmax

Axis = Literal["channel", "token"]
GROUP = 32  # values that share a scale and a minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheScheme:
    """How a cache is rounded.

    Args:
        bits: of an integer; 16 leaves the cache as it is.
        keys, values: what shares a scale: 32 tokens of one channel, or 32 channels of one token.
    """

    bits: int = 2
    keys: Axis = "channel"
    values: Axis = "token"

    def __str__(self) -> str:
        return f"int{self.bits}, keys by {self.keys}, values by {self.values}"


def rounded_cache(
    x: Float[Tensor, "*batch key d_head"], bits: int, axis: Axis, group: int = GROUP
) -> Float[Tensor, "*batch key d_head"]:
    """Keys or values after asymmetric rounding in groups of neighbours along one axis.

    Source: arXiv:2402.02750, section 3. There the last, incomplete group of keys stays in float16;
    here it has a scale of its own.

    Args:
        axis: "channel": a scale for `group` tokens of each channel; "token": for `group` channels of each token.
    """
    along = x.mT if axis == "channel" else x  # what shares a scale stands side by side
    length = along.shape[-1]
    size = min(group, length)
    last = along[..., -1:].expand(*along.shape[:-1], -length % size)  # repeated, so that no range becomes wider
    padded = torch.cat((along, last), -1)
    blocks = padded.reshape(-1, size)
    rounded = quantise_minmax(blocks, bits).values.reshape(padded.shape)[..., :length]
    return rounded.mT if axis == "channel" else rounded


def cache_edits(config: ModelConfig, scheme: CacheScheme) -> list[Edit]:
    """Edits that round keys and values as a cache would keep them: keys after their rotation."""
    keys = [scored(config, layer)[1] for layer in range(config.n_layers)]
    return [
        *(Edit(name, lambda x: rounded_cache(x, scheme.bits, scheme.keys)) for name in keys),
        Edit("blocks.*.attn.v", lambda x: rounded_cache(x, scheme.bits, scheme.values)),
    ]
