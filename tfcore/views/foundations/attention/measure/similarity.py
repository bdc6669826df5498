"""Tokens of a text against each other: as embeddings, and as the queries and keys of every head."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray

from tfcore.attention import attention_scores
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer

Measure = Literal["dot product", "cosine"]


@dataclass(frozen=True, slots=True)
class TokenSimilarity:
    """Every token of a text against every other.

    Args:
        products: dot products of the embeddings; symmetric.
        cosines: the same of embeddings brought to length 1, from -1 to 1.
        scores: q . k / sqrt(d_head) of each head, after the rotation by position and before the mask; 0 of layers
            without attention.
    """

    products: Float[ndarray, "seq seq"]
    cosines: Float[ndarray, "seq seq"]
    scores: Float[ndarray, "layer head query key"]

    @property
    def largest_between(self) -> float:
        """The largest absolute dot product of two different places; of a place with itself where there is only one."""
        apart = ~np.eye(len(self.products), dtype=bool) if len(self.products) > 1 else np.ones((1, 1), dtype=bool)
        return max(1e-6, float(np.abs(self.products[apart]).max()))


@torch.no_grad()
def token_similarity(model: Transformer, ids: Sequence[int]) -> TokenSimilarity:
    """Compare the tokens of a text twice: as embeddings, which is symmetric, and as queries against keys, which is not.

    The embeddings are those the model starts from; queries and keys are made from the output of the layers
    before, so they depend on the position and, above the first layer, on the other tokens.
    """
    activations = model.activations(one_text(model, ids), ("embed", "blocks.*.attn.scores"))
    (embedded,) = activations["embed"].float().cpu()  # (seq, d_model)
    directions = F.normalize(embedded, dim=1)
    n_heads, n = model.config.attention.n_heads, len(embedded)
    scores = torch.zeros(model.config.n_layers, n_heads, n, n)
    for i in model.config.attention_layers:
        (scores[i],) = activations[f"blocks.{i}.attn.scores"].float().cpu()
    return TokenSimilarity(
        attention_scores(embedded, embedded, scale=1.0).numpy(),
        attention_scores(directions, directions, scale=1.0).numpy(),
        scores.numpy(),
    )
