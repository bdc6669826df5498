"""The optimiser and its schedule: AdamW with decay groups, warm-up, cosine."""

import math

import torch
from torch import nn


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Parameters in two groups: matrices decay, vectors (norm scales, biases) and embedding tables do not.

    Decaying a scale pulls it to zero, which is no simpler a model; matrices are where decay regularises.
    """
    embeddings = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    decay = [p for p in model.parameters() if p.ndim >= 2 and id(p) not in embeddings]
    rest = [p for p in model.parameters() if p.ndim < 2 or id(p) in embeddings]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def adamw(model: nn.Module, lr: float, betas: tuple[float, float], weight_decay: float) -> torch.optim.AdamW:
    """AdamW (arXiv:1711.05101): Adam with the weight decay taken out of the gradient."""
    return torch.optim.AdamW(decay_groups(model, weight_decay), lr=lr, betas=betas, fused=True)


def warmup_cosine(step: int, steps: int, warmup: int, lr: float, lr_min: float) -> float:
    """Learning rate of a step: a line from 0 to lr over `warmup` steps, then half a cosine down to lr_min.

    Source: arXiv:1608.03983, eq. 5, without restarts.
    """
    if step < warmup:
        return lr * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, steps - warmup))
    return lr_min + (lr - lr_min) * 0.5 * (1 + math.cos(math.pi * progress))
