"""Optimisers and schedules: AdamW with decay groups, Adam, SGD; warm-up and what may come after it."""

import math
from typing import Any, Literal

import torch
from torch import nn

Optimiser = Literal["adamw", "adam", "sgd"]
Schedule = Literal["cosine", "inverse_sqrt", "constant"]


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
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


def optimiser(
    kind: Optimiser, model: nn.Module, lr: float, betas: tuple[float, float], weight_decay: float, momentum: float
) -> torch.optim.Optimizer:
    """The optimiser of this name, one of three, all with the same decay groups.

    adamw: m / (sqrt(v) + eps), and the weights shrink by lr * weight_decay beside it (arXiv:1711.05101).
    adam:  the same, but the decay is added to the gradient, and so divided by sqrt(v) too (arXiv:1412.6980).
    sgd:   the gradient with momentum, as large as it is; the decay is added to it.

    Args:
        betas: of adamw and adam: how long m and v remember.
        momentum: of sgd.
    """
    if kind == "adamw":
        return adamw(model, lr, betas, weight_decay)
    groups = decay_groups(model, weight_decay)
    if kind == "adam":
        return torch.optim.Adam(groups, lr=lr, betas=betas, fused=True)
    return torch.optim.SGD(groups, lr=lr, momentum=momentum)


def rate(kind: Schedule, step: int, steps: int, warmup: int, lr: float, lr_min: float = 0.0) -> float:
    """Learning rate of a step under one of three schedules; each begins with the same line from 0 to lr.

    Args:
        step: counted from 0.
        steps: of the whole training; only the cosine needs to know.
        warmup: steps of the line.
        lr_min: where the cosine ends.
    """
    if kind == "cosine":
        return warmup_cosine(step, steps, warmup, lr, lr_min)
    if kind == "inverse_sqrt":
        return warmup_inverse_sqrt(step, warmup, lr)
    return lr * min(1.0, (step + 1) / max(1, warmup))


def warmup_cosine(step: int, steps: int, warmup: int, lr: float, lr_min: float) -> float:
    """Learning rate of a step: a line from 0 to lr over `warmup` steps, then half a cosine down to lr_min.

    Source: arXiv:1608.03983, eq. 5, without restarts.
    """
    if step < warmup:
        return lr * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, steps - warmup))
    return lr_min + (lr - lr_min) * 0.5 * (1 + math.cos(math.pi * progress))


def warmup_inverse_sqrt(step: int, warmup: int, lr: float) -> float:
    """Learning rate of a step: a line from 0 to lr over `warmup` steps, then lr * sqrt(warmup / step).

    Source: arXiv:1706.03762, eq. 3; there lr is d_model ** -0.5 * warmup ** -0.5.
    """
    warmup, number = max(1, warmup), step + 1
    return lr * min(number / warmup, math.sqrt(warmup / number))
