"""Masks of published models that `tfcore.Transformer` has no switch for, and any mask by its name.

Those that it runs with are in tfcore.masks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool
from torch import Tensor

from tfcore.masks import Mask, at_least, bidirectional, causal, padding, places, sliding_window


def prefix_lm(n: int, prefix: int) -> Mask:
    """The first `prefix` tokens see each other in both directions; the rest is causal (arXiv:1910.10683, fig. 3)."""
    at_least(0, prefix=prefix)
    query, key = places(n, n)
    return (key <= query) | (key < prefix)


def window_and_global(n: int, window: int, n_global: int) -> Mask:
    """Sliding window plus `n_global` first tokens that all later tokens see (arXiv:2004.05150, fig. 2d).

    Longformer is an encoder, where the global tokens also see everything; here all stays causal.
    """
    at_least(0, n_global=n_global)
    _, key = places(n, n)
    return sliding_window(n, window) | (causal(n) & (key < n_global))


def dilated(n: int, window: int, dilation: int) -> Mask:
    """`window` tokens, each `dilation` before the next, itself included: the cost of `window`, the reach of
    (window - 1) * dilation tokens back (arXiv:2004.05150, fig. 2c, causal)."""
    at_least(1, window=window, dilation=dilation)
    query, key = places(n, n)
    return (key <= query) & (key > query - window * dilation) & (key % dilation == query % dilation)


def block_sparse(n: int, block: int, stride: int) -> Mask:
    """Tokens in blocks of `block`: causal inside the own block, plus every `stride`-th earlier block in whole
    (after the strided pattern of arXiv:1904.10509, section 4.3, with blocks for tokens)."""
    at_least(1, block=block, stride=stride)
    query, key = places(n, n)
    own, other = query // block, key // block
    return ((own == other) & (key <= query)) | ((other < own) & (other % stride == own % stride))


Kind = Literal[
    "causal", "bidirectional", "prefix", "padding", "window", "window_global", "dilated", "blocks", "alternating"
]
FUNCTIONS: dict[Kind, Callable[..., Tensor]] = {
    "causal": causal,
    "bidirectional": bidirectional,
    "prefix": prefix_lm,
    "padding": padding,
    "window": sliding_window,
    "window_global": window_and_global,
    "dilated": dilated,
    "blocks": block_sparse,
    "alternating": window_and_global,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskConfig:
    """One of the masks above with its parameters; those that the kind does not use are ignored.

    Args:
        kind: which mask.
        prefix: tokens that see each other both ways ("prefix").
        padded, padded_first: how many tokens are padding, and whether they are the first or the last ("padding").
        and_causal: also causal, as in a decoder's batch ("padding").
        window: tokens each one sees, itself included ("window", "window_global", "dilated", "alternating").
        n_global: first tokens that everyone after them sees ("window_global", "alternating").
        dilation: distance between tokens seen ("dilated").
        block, stride: tokens in a block, and which earlier blocks are seen: every stride-th ("blocks").
        every: one layer of so many, the last of them, has no window ("alternating"; 2 in Gemma 2, arXiv:2408.00118,
            and 6 in Gemma 3, arXiv:2503.19786).

    Raises:
        ValueError: an unknown kind or a parameter that is too small.
    """

    kind: Kind = "causal"
    prefix: int = 8
    padded: int = 4
    padded_first: bool = False
    and_causal: bool = False
    window: int = 6
    n_global: int = 1
    dilation: int = 3
    block: int = 8
    stride: int = 2
    every: int = 2

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind={self.kind!r} is not one of {', '.join(get_args(Kind))}")
        at_least(0, prefix=self.prefix, padded=self.padded, n_global=self.n_global)
        at_least(1, window=self.window, dilation=self.dilation, block=self.block, stride=self.stride)
        at_least(1, every=self.every)

    def is_whole(self, layer: int) -> bool:
        """Whether an "alternating" mask leaves a layer without a window."""
        return layer % self.every == self.every - 1


def of_layers(config: MaskConfig, n: int, n_layers: int) -> Bool[Tensor, "layer query key"]:
    """The masks of a model's layers for n tokens: alike, but for alternating ones."""
    return torch.stack([build(config, n, layer) for layer in range(n_layers)])


def build(config: MaskConfig, n: int, layer: int = 0) -> Mask:
    """The mask of a config for n tokens, in a layer: True where the query may see the key."""
    match config.kind:
        case "causal":
            return causal(n)
        case "bidirectional":
            return bidirectional(n)
        case "prefix":
            return prefix_lm(n, config.prefix)
        case "padding":
            place = torch.arange(n)
            padding_mask = place >= config.padded if config.padded_first else place < n - config.padded
            mask = padding(padding_mask)
            return mask & causal(n) if config.and_causal else mask
        case "window":
            return sliding_window(n, config.window)
        case "window_global":
            return window_and_global(n, config.window, config.n_global)
        case "dilated":
            return dilated(n, config.window, config.dilation)
        case "blocks":
            return block_sparse(n, config.block, config.stride)
        case "alternating" if config.is_whole(layer):
            return causal(n)
        case "alternating":
            return window_and_global(n, config.window, config.n_global)
