"""From scores to the next token: what temperature, top-k and top-p leave of the distribution, and the draw."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def distribution(
    logits: Float[Tensor, "*batch vocab"],
    *,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int = 1.0,
) -> Float[Tensor, "*batch vocab"]:
    """softmax(logits / temperature), cut to the top_k most likely tokens, then to the fewest of those whose
    probabilities reach top_p (nucleus sampling, arXiv:1904.09751, section 3.1), and brought back to a sum of 1.

    Args:
        temperature: 0 puts everything on the most likely token (greedy).
        top_k: None keeps all.

    Raises:
        ValueError: a value outside its range.
    """
    if temperature < 0 or not math.isfinite(temperature):
        raise ValueError(f"temperature={temperature} must be 0 or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k} must be at least 1, or None for all")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p} must be above 0 and at most 1")
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    p, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
    if top_k is not None:
        p[..., top_k:] = 0
        p = p / p.sum(-1, keepdim=True)
    before = p.cumsum(-1) - p  # what the more likely tokens have together
    p = torch.where(before < top_p, p, torch.zeros_like(p))
    p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)
