"""The queries, keys and values of one head of a model on a text, as attention gets them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class HeadVectors:
    """One head's queries (times the factor of the scores already), keys and values, on the CPU."""

    q: Float[Tensor, "seq d_head"]
    k: Float[Tensor, "seq d_head"]
    v: Float[Tensor, "seq d_head"]

    def scores(
        self, queries: Int[Tensor, " query"], keys: Int[Tensor, " key"], causal: bool
    ) -> Float[Tensor, "query key"]:
        """Scores of some queries for some keys, both given by their positions; -inf where the key comes later."""
        scores = attention_scores(self.q[queries], self.k[keys], 1.0)
        return scores.masked_fill(queries[:, None] < keys, -math.inf) if causal else scores

    def naive(self, causal: bool) -> tuple[Float[Tensor, "seq seq"], Float[Tensor, "seq d_head"]]:
        """Weights and output the plain way: all scores at once, the softmax of every row, the weighted values."""
        every = torch.arange(len(self.q))
        weights = attention_weights(self.scores(every, every, causal))
        return weights, weighted_values(weights, self.v)

    def double(self) -> "HeadVectors":
        """The same numbers in float64."""
        return HeadVectors(self.q.double(), self.k.double(), self.v.double())


@torch.no_grad()
def head_vectors(model: Transformer, ids: Sequence[int], layer: int, head: int) -> HeadVectors:
    """Run a decoder on a text and take one head's vectors; after the rotation, where positions are RoPE.

    Args:
        head: a query head; it comes with the key/value head that its group shares.
    """
    config = model.config
    turned = "rot_" if config.positions == "rope" else ""
    names = [f"blocks.{layer}.attn.{name}" for name in (f"{turned}q", f"{turned}k", "v")]
    found = model(one_text(model, ids), capture=names).activations
    shared = head * config.kv_heads // config.n_heads
    q, k, v = (found[name][0, place].float().cpu() for name, place in zip(names, (head, shared, shared), strict=True))
    return HeadVectors(q * config.scale_of(layer), k, v)
