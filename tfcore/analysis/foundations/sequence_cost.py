"""What the length of a sequence costs a Transformer: one part grows with n, the other with n squared."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

D_MODEL, N_LAYERS, N_HEADS = 768, 12, 12  # GPT-2 small, BERT base and ViT-Base are all of this size


@dataclass(frozen=True, slots=True)
class SequenceCost:
    """The forward pass over sequences of n tokens, in a Transformer of the size above.

    Args:
        n: tokens.
        pairs: n * n, the cells of one head's attention map.
        weights: FLOPs of the products with weights, which grow with n.
        attention: FLOPs of queries with keys and of attention with values, which grow with n squared.
        memory: bytes of all attention maps of one layer in half precision, if they are written out.
    """

    n: Int[ndarray, " length"]
    pairs: Int[ndarray, " length"]
    weights: Float[ndarray, " length"]
    attention: Float[ndarray, " length"]
    memory: Int[ndarray, " length"]

    @property
    def total(self) -> Float[ndarray, " length"]:
        """FLOPs in all."""
        return self.weights + self.attention

    @property
    def share(self) -> Float[ndarray, " length"]:
        """Of the FLOPs, those that grow with n squared; a half at n = 6 d_model."""
        return self.attention / np.maximum(self.total, 1)


def sequence_cost(lengths: Sequence[int]) -> SequenceCost:
    """Count what sequences of these lengths cost: 24 n d^2 + 4 n^2 d floating-point operations a layer.

    24 n d^2: queries, keys, values and output (4 d^2 weights) and a feed-forward layer of 4 d (8 d^2), two operations
    a weight and token. 4 n^2 d: two for each score and two for each value, over n * n pairs and d numbers.

    Source: arXiv:2001.08361, table 1.
    """
    n = np.array(lengths, dtype=np.int64)
    weights = 24.0 * N_LAYERS * n * D_MODEL**2
    attention = 4.0 * N_LAYERS * n.astype(np.float64) ** 2 * D_MODEL
    return SequenceCost(n, n * n, weights, attention, 2 * N_HEADS * n * n)
