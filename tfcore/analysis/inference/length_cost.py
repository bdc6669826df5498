"""What the length of a text costs a published model: operations, and the memory of its score matrices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.model.flop_count import flops
from tfcore.config import ModelConfig

BYTES = 2  # half precision
SQUARED = ("attention scores", "attention values")


@dataclass(frozen=True, slots=True)
class LengthCost:
    """The forward pass over texts of n tokens.

    Args:
        n: tokens.
        cells: n * n, the score matrix of one head.
        linear: FLOPs of the products with weights, which grow with n.
        squared: FLOPs of queries with keys and of weights with values, 4 n^2 d a layer.
        matrices: bytes of the score matrices of all heads of one layer.
        vectors: bytes of queries, keys, values and outputs of one layer.
        crossing: the length at which both kinds of FLOPs are equal.
    """

    n: Int[ndarray, " length"]
    cells: Int[ndarray, " length"]
    linear: Float[ndarray, " length"]
    squared: Float[ndarray, " length"]
    matrices: Int[ndarray, " length"]
    vectors: Int[ndarray, " length"]
    crossing: float

    @property
    def share(self) -> Float[ndarray, " length"]:
        """Of all FLOPs, those that grow with n squared."""
        return self.squared / (self.linear + self.squared)


def length_cost(config: ModelConfig, lengths: Sequence[int]) -> LengthCost:
    """Count a model of this shape at lengths it may never have been trained for; every pair counts, also masked ones.

    Matrix products only, as in arXiv:2001.08361, table 1; memory in half precision.
    """
    shape = replace(config, max_seq_len=max(*lengths, 1))
    n = np.array(lengths, dtype=np.int64)
    counts = [flops(shape, length).by_component for length in lengths]
    squared = np.array([sum(count[name] for name in SQUARED) for count in counts], dtype=np.float64)
    linear = np.array([sum(count.values()) for count in counts], dtype=np.float64) - squared
    width = 2 * config.n_heads * config.head_size + 2 * config.kv_heads * config.head_size  # Q and O, K and V
    crossing = float(linear[0] / n[0] / (squared[0] / n[0] ** 2))
    return LengthCost(n, n * n, linear, squared, BYTES * config.n_heads * n * n, BYTES * width * n, crossing)
