"""Who may look at whom. Every mask is a boolean matrix (query, key): True where the query may see the key.

No row is ever empty: each token sees at least itself, so that every softmax has something to share out.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Mask = Bool[Tensor, "query key"]


def causal(n_query: int, n_key: int | None = None, *, device: torch.device | None = None) -> Mask:
    """Each token sees itself and what came before: key <= query (arXiv:1706.03762, section 3.2.3).

    Args:
        n_query: number of queries.
        n_key: number of keys when a cache holds earlier ones; the queries are then the last positions.
    """
    query, key = places(n_query, n_key, device)
    return key <= query


def bidirectional(n_query: int, n_key: int | None = None, *, device: torch.device | None = None) -> Mask:
    """Every token sees every token, as in an encoder."""
    query, key = places(n_query, n_key, device)
    return (key >= 0) & (query >= 0)


def sliding_window(
    n_query: int, window: int, n_key: int | None = None, *, is_causal: bool = True, device: torch.device | None = None
) -> Mask:
    """Each token sees at most `window` tokens back, itself included: 0 <= query - key < window (arXiv:2310.06825).

    Args:
        is_causal: otherwise as far ahead as back, as in an encoder: |query - key| < window.
    """
    at_least(1, window=window)
    query, key = places(n_query, n_key, device)
    back = query - key
    return (back >= 0) & (back < window) if is_causal else back.abs() < window


def padding(padding_mask: Bool[Tensor, "*batch key"], n_query: int | None = None) -> Bool[Tensor, "*batch query key"]:
    """Nobody sees a padding token; each token still sees itself, so that no row of the softmax is empty.

    Args:
        padding_mask: True at real tokens.
    """
    n_key = padding_mask.shape[-1]
    query, key = places(n_key if n_query is None else n_query, n_key, padding_mask.device)
    return padding_mask[..., None, :] | (query == key)


def places(
    n_query: int, n_key: int | None = None, device: torch.device | None = None
) -> tuple[Int[Tensor, "query 1"], Int[Tensor, "1 key"]]:
    """Positions of queries (column) and keys (row); queries are the last n_query of the n_key positions."""
    n_key = n_query if n_key is None else n_key
    if not 0 <= n_query <= n_key:
        raise ValueError(f"n_query={n_query} must be between 0 and n_key={n_key}: the queries are the last of the keys")
    query = torch.arange(n_key - n_query, n_key, device=device)
    return query[:, None], torch.arange(n_key, device=device)[None, :]


def at_least(low: int, **values: int) -> None:
    """Refuse parameters below a bound.

    Raises:
        ValueError: the sentence that names the first of them.
    """
    for name, value in values.items():
        if value < low:
            raise ValueError(f"{name}={value} must be at least {low}")
