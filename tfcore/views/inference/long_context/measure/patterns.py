"""Sparse attention patterns: the pairs they keep, and how far information travels through layers of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.leaks import leak_test
from tfcore.measures.mask_patterns import Kind, MaskConfig, build
from tfcore.model import Transformer

COUNTED = ("causal", "bidirectional", "window", "window_global", "dilated", "blocks")
NAMES: dict[Kind, str] = {
    "causal": "full, causal",
    "window": "sliding window",
    "window_global": "window + global",
    "dilated": "dilated",
    "blocks": "block-sparse",
}


def keys_seen(config: MaskConfig, n: int) -> Int[ndarray, " query"]:
    """How many keys each of n queries sees, without making the matrix: a sum over n numbers instead of n squared.

    Raises:
        ValueError: a mask that depends on a text rather than on a pattern.
    """
    place = np.arange(n, dtype=np.int64)
    window = np.minimum(place + 1, config.window)
    match config.kind:
        case "causal":
            return place + 1
        case "bidirectional":
            return np.full(n, n, dtype=np.int64)
        case "window":
            return window
        case "window_global":  # first tokens that the window does not hold anyway
            return window + np.minimum(config.n_global, place + 1 - window)
        case "dilated":
            return np.minimum(config.window, place // config.dilation + 1)
        case "blocks":
            own = place // config.block
            return place % config.block + 1 + own // config.stride * config.block
    raise ValueError(f"kind={config.kind!r} is not a pattern; choose one of {', '.join(COUNTED)}")


def pairs_kept(config: MaskConfig, lengths: Sequence[int]) -> Int[ndarray, " length"]:
    """The (query, key) pairs of a pattern for each length. Every pair costs 4 d_head operations in each head."""
    return np.array([int(keys_seen(config, n).sum()) for n in lengths], dtype=np.int64)


def layers_needed(mask: Bool[Tensor, "query key"], most: int) -> Int[ndarray, "query key"]:
    """Through how many layers a key's token must pass to reach a query: 1 where the mask lets it through at once.

        reach_1 = mask,   reach_(l+1) = mask @ reach_l > 0

    Args:
        most: layers to try; what has not arrived after them is 0.

    Source: the receptive field of stacked windows, arXiv:2004.05150, section 3.1.
    """
    step, reach = mask.float(), mask
    needed = mask.to(torch.int64)
    for layer in range(2, most + 1):
        reach = (step @ reach.float()) > 0
        needed[reach & (needed == 0)] = layer
    return needed.numpy()


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one token's information gets.

    Args:
        kind: of the mask.
        needed: layers, for each (query, key); 0 where it never arrives.
        pairs: that the mask keeps.
        back: how far behind the last token lies the earliest one whose information reaches it, after 1, 2 ... layers.
        arrived: how many tokens reach the last one, after 1, 2 ... layers.
    """

    kind: Kind
    needed: Int[ndarray, "query key"]
    pairs: int
    back: Int[ndarray, " layer"]
    arrived: Int[ndarray, " layer"]


def reach(config: MaskConfig, n: int, layers: int) -> Reach:
    """Follow information through `layers` layers that all have this mask."""
    mask = build(config, n)
    needed = layers_needed(mask, layers)
    last = needed[-1]
    arrived = [(last > 0) & (last <= layer) for layer in range(1, layers + 1)]
    back = [n - 1 - int(np.flatnonzero(those)[0]) for those in arrived]
    return Reach(
        config.kind, needed, int(mask.sum()), np.array(back), np.array([int(those.sum()) for those in arrived])
    )


@dataclass(frozen=True, slots=True)
class MeasuredReach:
    """A real model under a mask: one token was changed, and the outputs compared bit by bit.

    Args:
        kind: of the mask.
        layers: of the model.
        position: of that token.
        expected: per token, whether the pattern lets the change arrive within the model's layers.
        changed: whether any logit there is another number.
    """

    kind: Kind
    layers: int
    position: int
    expected: Bool[ndarray, " seq"]
    changed: Bool[ndarray, " seq"]

    @property
    def furthest(self) -> int:
        """Tokens between the changed one and the last one it reached."""
        return int(np.flatnonzero(self.changed)[-1]) - self.position


def measured_reach(
    model: Transformer, ids: Sequence[int], config: MaskConfig, position: int, replacement: int
) -> MeasuredReach:
    """Change a token and see where the change arrives; the pattern's own arithmetic beside it.

    Args:
        position, replacement: as in `leak_test`.
    """
    layers = model.config.n_layers
    needed = layers_needed(build(config, len(ids)), layers)
    leak = leak_test(model, ids, config, position, replacement)
    return MeasuredReach(config.kind, layers, position, needed[:, position] > 0, leak.difference > 0)
