"""Who may look at whom. Every mask is a boolean matrix (query, key): True where the query may see the key."""

import torch
from jaxtyping import Bool
from torch import Tensor

Mask = Bool[Tensor, "query key"]


def _offset(n_query: int, n_key: int | None) -> tuple[Tensor, Tensor]:
    """Positions of queries (column) and keys (row); queries are the last n_query of the n_key positions."""
    n_key = n_query if n_key is None else n_key
    return torch.arange(n_key - n_query, n_key)[:, None], torch.arange(n_key)[None, :]


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
    query, key = _offset(n, n)
    return (key <= query) | (key < prefix)


def padding(real: Bool[Tensor, " key"], n_query: int | None = None) -> Mask:
    """Nobody sees a padding token. `real` is True at real tokens; each token still sees itself, so that no row
    of the softmax is empty."""
    n_key = real.shape[0]
    n_query = n_key if n_query is None else n_query
    query, key = _offset(n_query, n_key)
    return real[None, :].expand(n_query, n_key) | (query == key)


def sliding_window(n_query: int, window: int, n_key: int | None = None) -> Mask:
    """Causal, and at most `window` tokens back, itself included: 0 <= query - key < window (arXiv:2310.06825)."""
    query, key = _offset(n_query, n_key)
    return (key <= query) & (query - key < window)


def window_and_global(n: int, window: int, n_global: int) -> Mask:
    """Sliding window plus `n_global` first tokens that all later tokens see (arXiv:2004.05150, fig. 2d, causal)."""
    _, key = _offset(n, n)
    return sliding_window(n, window) | (causal(n) & (key < n_global))


def dilated(n: int, window: int, dilation: int) -> Mask:
    """`window` tokens back, `dilation` apart: reach window * dilation at the cost of window (arXiv:2004.05150, 2c)."""
    query, key = _offset(n, n)
    back = query - key
    return (back >= 0) & (back < window * dilation) & (back % dilation == 0)


def block_sparse(n: int, block: int, stride: int) -> Mask:
    """Tokens in blocks of `block`: causal inside the own block, plus every `stride`-th earlier block in whole
    (a strided pattern after arXiv:1904.10509, section 4.2, on blocks)."""
    query, key = _offset(n, n)
    own, other = query // block, key // block
    return ((own == other) & (key <= query)) | ((other < own) & ((own - other) % stride == 0))
