"""How alike the tokens of a text are: by their embeddings alone, and as the heads of a model compare them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.one_text import one_text
from tfcore.attention import attention_scores
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class TokenSimilarity:
    """Every token of a text against every other.

    Args:
        products: dot products of the embeddings; symmetric.
        cosines: the same of embeddings brought to length 1, from -1 to 1.
        scores: q . k / sqrt(d_head) of each head, after the rotation by position and before the mask.
    """

    products: Float[ndarray, "seq seq"]
    cosines: Float[ndarray, "seq seq"]
    scores: Float[ndarray, "layer head query key"]

    @property
    def largest_between(self) -> float:
        """The largest dot product, either way, of two places; of one place with itself where there is no other."""
        apart = ~np.eye(len(self.products), dtype=bool) if len(self.products) > 1 else np.ones((1, 1), dtype=bool)
        return max(1e-6, float(np.abs(self.products[apart]).max()))


def closest(cosines: Float[ndarray, "seq seq"], tokens: Sequence[str]) -> tuple[int, int, float] | None:
    """The places of the two different tokens with the largest cosine, and that cosine; None where all are the same."""
    names = np.array([token.strip().casefold() for token in tokens], dtype=object)
    between = np.where(names[:, None] != names[None, :], cosines, -np.inf)
    i, j = divmod(int(between.argmax()), len(names))
    return (min(i, j), max(i, j), float(between[i, j])) if np.isfinite(between[i, j]) else None


@torch.no_grad()
def token_similarity(model: Transformer, ids: Sequence[int]) -> TokenSimilarity:
    """Compare the tokens of a text twice: as embeddings, which is symmetric, and as queries against keys, which is not.

    The embeddings are those the model starts from; queries and keys are made from what the layers before left of them,
    so that they know the position and (in layers above the first) what stands around.
    """
    found = model(one_text(model, ids), capture=("embed", "blocks.*.attn.scores")).activations
    embedded = found["embed"][0].float().cpu()  # (seq, d_model)
    directions = F.normalize(embedded, dim=-1)
    scores = torch.cat([found[f"blocks.{i}.attn.scores"].float().cpu() for i in range(model.config.n_layers)])
    return TokenSimilarity(
        attention_scores(embedded, embedded, scale=1.0).numpy(),
        attention_scores(directions, directions, scale=1.0).numpy(),
        scores.numpy(),
    )
