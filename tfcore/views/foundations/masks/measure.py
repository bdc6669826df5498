"""Scores and weights of a model under a mask."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_weights
from tfcore.measures.head_vectors import learned_sinks
from tfcore.measures.mask_patterns import MaskConfig, of_layers
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class MaskedAttention:
    """All heads of a model that ran under a mask; 0 in layers of a hybrid that do not attend.

    Args:
        allowed: the mask of each layer.
        scores: what the softmax of each layer gets before the mask is applied.
        unmasked: softmax of these scores as they are, had this layer alone no mask.
        masked: softmax after the mask, which the model used.
        blocked_share: the mean share of a query's `unmasked` weight that lies on keys it may not see.
    """

    allowed: Bool[ndarray, "layer query key"]
    scores: Float[ndarray, "layer head query key"]
    unmasked: Float[ndarray, "layer head query key"]
    masked: Float[ndarray, "layer head query key"]
    blocked_share: Float[ndarray, "layer head"]


@torch.no_grad()
def masked_attention(model: Transformer, ids: Sequence[int], config: MaskConfig) -> MaskedAttention:
    """Scores and weights of every head on a text, before and after the mask, in one forward pass.

    The mask acts in every layer that attends, so the scores of a later layer depend on it too. What else a hybrid has
    carries what came before from token to token, whatever the mask.
    """
    n_layers, layers = model.config.n_layers, model.config.attention_layers
    mask = of_layers(config, len(ids), n_layers)
    activations = model.activations(one_text(model, ids), ("blocks.*.attn.scores", "blocks.*.attn.pattern"), mask=mask)
    scores, masked = (
        torch.cat([activations[f"blocks.{i}.attn.{name}"].float().cpu() for i in layers])
        for name in ("scores", "pattern")
    )  # (layer that attends, head, query, key)
    unmasked = attention_weights(scores, sinks=learned_sinks(model, layers))
    blocked = (unmasked * ~mask[list(layers), None]).sum(-1).mean(-1)
    return MaskedAttention(
        mask.numpy(), *(_of_all(values, layers, n_layers) for values in (scores, unmasked, masked, blocked))
    )


def _of_all(values: Float[Tensor, "some ..."], layers: Sequence[int], n_layers: int) -> Float[ndarray, "layer ..."]:
    """Values of some layers among those of all, with zeros for the others."""
    every = torch.zeros(n_layers, *values.shape[1:])
    every[list(layers)] = values
    return every.numpy()
