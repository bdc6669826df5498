"""Who may look at whom. Every mask is a boolean matrix (query, key): True where the query may see the key.

No row is ever empty: each token sees at least itself, so that every softmax has something to share out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Bool
from torch import Tensor

Mask = Bool[Tensor, "query key"]


def _offset(n_query: int, n_key: int | None) -> tuple[Tensor, Tensor]:
    """Positions of queries (column) and keys (row); queries are the last n_query of the n_key positions."""
    n_key = n_query if n_key is None else n_key
    if not 0 <= n_query <= n_key:
        raise ValueError(f"n_query={n_query} must be between 0 and n_key={n_key}: the queries are the last of the keys")
    return torch.arange(n_key - n_query, n_key)[:, None], torch.arange(n_key)[None, :]


def _at_least(low: int, **values: int) -> None:
    for name, value in values.items():
        if value < low:
            raise ValueError(f"{name}={value} must be at least {low}")


def causal(n_query: int, n_key: int | None = None) -> Mask:
    """Each token sees itself and what came before: key <= query (arXiv:1706.03762, section 3.2.3).

    Args:
        n_query: number of queries.
        n_key: number of keys when a cache holds earlier ones; the queries are then the last positions.
    """
    query, key = _offset(n_query, n_key)
    return key <= query


def bidirectional(n_query: int, n_key: int | None = None) -> Mask:
    """Every token sees every token, as in an encoder."""
    query, key = _offset(n_query, n_key)
    return (key >= 0) & (query >= 0)


def prefix_lm(n: int, prefix: int) -> Mask:
    """The first `prefix` tokens see each other in both directions; the rest is causal (arXiv:1910.10683, fig. 3)."""
    _at_least(0, prefix=prefix)
    query, key = _offset(n, n)
    return (key <= query) | (key < prefix)


def padding(padding_mask: Bool[Tensor, " key"], n_query: int | None = None) -> Mask:
    """Nobody sees a padding token; each token still sees itself, so that no row of the softmax is empty.

    Args:
        padding_mask: True at real tokens.
    """
    n_key = padding_mask.shape[0]
    n_query = n_key if n_query is None else n_query
    query, key = _offset(n_query, n_key)
    return padding_mask[None, :].expand(n_query, n_key) | (query == key).to(padding_mask.device)


def sliding_window(n_query: int, window: int, n_key: int | None = None) -> Mask:
    """Causal, and at most `window` tokens back, itself included: 0 <= query - key < window (arXiv:2310.06825)."""
    _at_least(1, window=window)
    query, key = _offset(n_query, n_key)
    return (key <= query) & (key > query - window)


def window_and_global(n: int, window: int, n_global: int) -> Mask:
    """Sliding window plus `n_global` first tokens that all later tokens see (arXiv:2004.05150, fig. 2d).

    Longformer is an encoder, where the global tokens also see everything; here all stays causal.
    """
    _at_least(0, n_global=n_global)
    _, key = _offset(n, n)
    return sliding_window(n, window) | (causal(n) & (key < n_global))


def dilated(n: int, window: int, dilation: int) -> Mask:
    """`window` tokens, each `dilation` before the next, itself included: the cost of `window`, the reach of
    (window - 1) * dilation tokens back (arXiv:2004.05150, fig. 2c, causal)."""
    _at_least(1, window=window, dilation=dilation)
    query, key = _offset(n, n)
    return (key <= query) & (key > query - window * dilation) & (key % dilation == query % dilation)


def block_sparse(n: int, block: int, stride: int) -> Mask:
    """Tokens in blocks of `block`: causal inside the own block, plus every `stride`-th earlier block in whole
    (after the strided pattern of arXiv:1904.10509, section 4.3, with blocks for tokens)."""
    _at_least(1, block=block, stride=stride)
    query, key = _offset(n, n)
    own, other = query // block, key // block
    return ((own == other) & (key <= query)) | ((other < own) & (other % stride == own % stride))


Kind = Literal["causal", "bidirectional", "prefix", "padding", "window", "window_global", "dilated", "blocks"]
FUNCTIONS: dict[Kind, Callable[..., Tensor]] = {
    "causal": causal,
    "bidirectional": bidirectional,
    "prefix": prefix_lm,
    "padding": padding,
    "window": sliding_window,
    "window_global": window_and_global,
    "dilated": dilated,
    "blocks": block_sparse,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskConfig:
    """One of the masks above with its parameters; those that the kind does not use are ignored.

    Args:
        kind: which mask.
        prefix: tokens that see each other both ways ("prefix").
        padded, padded_first: how many tokens are padding, and whether they are the first or the last ("padding").
        and_causal: also causal, as in a decoder's batch ("padding").
        window: tokens each one sees, itself included ("window", "window_global", "dilated").
        n_global: first tokens that everyone after them sees ("window_global").
        dilation: distance between tokens seen ("dilated").
        block, stride: tokens in a block, and which earlier blocks are seen: every stride-th ("blocks").

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

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind={self.kind!r} is not one of {', '.join(get_args(Kind))}")
        _at_least(0, prefix=self.prefix, padded=self.padded, n_global=self.n_global)
        _at_least(1, window=self.window, dilation=self.dilation, block=self.block, stride=self.stride)


def build(config: MaskConfig, n: int) -> Mask:
    """The mask of a config for n tokens: True where the query may see the key."""
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
