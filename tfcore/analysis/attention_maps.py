"""Attention of every head of a model on one text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.heads import HeadScores, score_heads
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """All attention patterns on one text, and what each head does there.

    Args:
        ids: the token ids.
        patterns: attention weights, each row sums to 1.
        heads: the scores of every head on this text.
    """

    ids: Int[ndarray, " seq"]
    patterns: Float[ndarray, "layer head query key"]
    heads: HeadScores


@torch.no_grad()
def attention_maps(
    model: Transformer, ids: Sequence[int], inducing: Float[ndarray, "layer head"] | None = None
) -> AttentionMaps:
    """Run the model once over ids and keep every attention pattern.

    Args:
        inducing: see score_heads.

    Raises:
        ValueError: no ids, or more than the model's context.
    """
    tokens = torch.tensor([list(ids)], dtype=torch.int64, device=next(model.parameters()).device)
    output = model(tokens, capture=("blocks.*.attn.pattern",))
    layers = [output.activations[f"blocks.{i}.attn.pattern"][0] for i in range(model.config.n_layers)]
    patterns = torch.stack(layers).float().cpu().numpy()
    return AttentionMaps(np.asarray(ids), patterns, score_heads(patterns, np.asarray(ids), inducing))


def pool(pattern: Float[ndarray, "*head query key"], size: int) -> Float[ndarray, "*head row column"]:
    """Shrink maps to at most size x size by keeping the largest weight of each square of cells, so that a single
    strong weight stays visible. Maps that are small enough come back as they are."""
    n = pattern.shape[-1]
    step = -(-n // size)
    if step == 1:
        return pattern
    padded = -(-n // step) * step
    pad = [(0, 0)] * (pattern.ndim - 2) + [(0, padded - n)] * 2
    cells = np.pad(pattern, pad).reshape(*pattern.shape[:-2], padded // step, step, padded // step, step)
    return cells.max(axis=(-3, -1))
