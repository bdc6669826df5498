"""Encoder, decoder, encoder-decoder: who sees whom in the whole model."""

import torch
from jaxtyping import Bool
from numpy import ndarray

from tfcore.config import Architecture
from tfcore.masks import bidirectional, causal


def seen(architecture: Architecture, read: int, written: int) -> Bool[ndarray, "query key"]:
    """Which token may look at which, of a text that is read and one that is written after it.

    An encoder sees all, in both directions; a decoder looks back only, at what it read and what it wrote alike. An
    encoder-decoder does both: what is read sees itself whole, what is written looks back at itself and, by
    cross-attention, at all that was read (arXiv:1706.03762, section 3.2.3).

    Args:
        read, written: how many tokens.
    """
    n = read + written
    if architecture == "encoder":
        return bidirectional(n).numpy()
    mask = causal(n)
    if architecture == "encoder-decoder":
        mask[:read, :read] = torch.ones(read, read, dtype=torch.bool)
    return mask.numpy()
