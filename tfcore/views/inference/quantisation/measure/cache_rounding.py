"""The KV cache in fewer bits: keys and values rounded by channel or by token, and its bytes with their scales."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.head_vectors import TextVectors
from tfcore.measures.kv_bytes import CacheShape, cache_bytes
from tfcore.measures.quantisation.formats import SCALE_BITS
from tfcore.measures.quantisation.rounded_cache import GROUP, CacheScheme, rounded_cache
from tfcore.measures.statistics import relative_error

FLOAT_BITS = 16  # of the cache it is compared with


def rounded_cache_bytes(shape: CacheShape, tokens: int, bits: int) -> int:
    """Bytes of a cache of one text, with a scale and a minimum of 16 bits for every 32 values; 16 bits need none.

    The integers are `kv_cache.cache_bytes` scaled to `bits`.
    """
    plain = cache_bytes(shape, tokens)  # float16
    if bits >= FLOAT_BITS:
        return plain
    return round(plain * (bits + 2 * SCALE_BITS / GROUP) / FLOAT_BITS)


@dataclass(frozen=True, slots=True)
class CacheEffect:
    """One head with its keys and values rounded.

    Args:
        layer, head: which one.
        keys, values: (token, d_head), before they are rounded.
        before, after: weights, (query, key).
        keys_error, values_error: relative RMS error.
        output_error: of what the head hands on.
    """

    layer: int
    head: int
    scheme: CacheScheme
    keys: Float[ndarray, "key d_head"]
    values: Float[ndarray, "key d_head"]
    before: Float[ndarray, "query key"]
    after: Float[ndarray, "query key"]
    keys_error: float
    values_error: float
    output_error: float

    @property
    def moved(self) -> float:
        """Attention weight that goes to other keys than before, or to the head's learned sink or from it: half the sum
        of differences, mean over the queries."""
        change = self.after - self.before
        return float((np.abs(change).sum(1) + np.abs(change.sum(1))).mean() / 2)


def cache_effect(read: TextVectors, layer: int, head: int, scheme: CacheScheme) -> CacheEffect:
    """One head computed from rounded keys and values; layers below it are not rounded."""
    vectors = read.head(layer, head)
    keys = rounded_cache(vectors.k, scheme.bits, scheme.keys)
    values = rounded_cache(vectors.v, scheme.bits, scheme.values)
    before, output = vectors.naive(causal=True)
    after, rounded_output = replace(vectors, k=keys, v=values).naive(causal=True)
    return CacheEffect(
        layer,
        head,
        scheme,
        vectors.k.numpy(),
        vectors.v.numpy(),
        before.numpy(),
        after.numpy(),
        relative_error(vectors.k.numpy(), keys.numpy()),
        relative_error(vectors.v.numpy(), values.numpy()),
        relative_error(output.numpy(), rounded_output.numpy()),
    )
