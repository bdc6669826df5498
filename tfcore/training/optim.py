"""Optimisers and schedules: AdamW with decay groups, Adam, SGD, Muon; warm-up and what may come after it."""

import math
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import nn

from tfcore.attention import EachNorm
from tfcore.training.hyper_connections import HyperConnection

Optimiser = Literal["adamw", "adam", "sgd", "muon"]
Schedule = Literal["cosine", "inverse_sqrt", "constant"]
MUON_MOMENTUM = 0.95  # of torch.optim.Muon and of the published code


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameters in two groups: matrices decay, vectors (norm scales, biases) and embedding tables do not.

    Decaying a scale pulls it to zero, which is no simpler a model; matrices are where decay regularises. The weights of
    hyper-connections begin at 1 and do not decay (arXiv:2409.19606, section 4).
    """
    kept = nn.Embedding | EachNorm | HyperConnection
    without = {id(p) for m in model.modules() if isinstance(m, kept) for p in m.parameters()}
    decay = [p for p in model.parameters() if p.ndim >= 2 and id(p) not in without]
    rest = [p for p in model.parameters() if p.ndim < 2 or id(p) in without]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def adamw(model: nn.Module, lr: float, betas: tuple[float, float], weight_decay: float) -> torch.optim.AdamW:
    """AdamW (arXiv:1711.05101): Adam with the weight decay taken out of the gradient."""
    return torch.optim.AdamW(decay_groups(model, weight_decay), lr=lr, betas=betas, fused=True)


def optimiser(
    kind: Optimiser, model: nn.Module, lr: float, betas: tuple[float, float], weight_decay: float, momentum: float
) -> torch.optim.Optimizer:
    """The optimiser of this name, one of four, all with the same decay groups.

    adamw: m / (sqrt(v) + eps), and the weights shrink by lr * weight_decay beside it (arXiv:1711.05101).
    adam:  the same, but the decay is added to the gradient, and so divided by sqrt(v) too (arXiv:1412.6980).
    sgd:   the gradient with momentum, as large as it is; the decay is added to it.
    muon:  see `muon`; AdamW for what is no matrix of a block.

    Args:
        betas: of adamw, adam and muon: how long m and v remember.
        momentum: of sgd.
    """
    if kind == "adamw":
        return adamw(model, lr, betas, weight_decay)
    if kind == "muon":
        return muon(model, lr, betas, weight_decay)
    groups = decay_groups(model, weight_decay)
    if kind == "adam":
        return torch.optim.Adam(groups, lr=lr, betas=betas, fused=True)
    return torch.optim.SGD(groups, lr=lr, momentum=momentum)


class JointOptimizer(torch.optim.Optimizer):
    """Several optimisers of different parameters as one: it has the groups and the state of all."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        super().__init__([group for part in parts for group in part.param_groups], {})
        self.parts = parts
        for part in parts:
            part.state = self.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of each."""
        loss = None if closure is None else closure()
        for part in self.parts:
            part.step()
        return loss


def muon(model: nn.Module, lr: float, betas: tuple[float, float], weight_decay: float) -> JointOptimizer:
    """Muon for the matrices of the blocks, AdamW for the rest: embedding, unembedding, biases and gains of norms.

    The momentum M of a matrix is made nearly orthogonal: five Newton-Schulz steps take its singular values towards 1
    and leave its singular vectors. The step is lr * 0.2 * sqrt(max(rows, columns)) times that, so that its root mean
    square is about that of AdamW, whose learning rate and weight decay it can share (arXiv:2502.16982, eq. 4; there as
    here with Nesterov's momentum). W_Q, W_K and W_V stand in one matrix here, and are made orthogonal together.

    Args:
        betas: of AdamW.
    """
    groups = decay_groups(model, weight_decay)
    decaying = {id(p) for p in groups[0]["params"]}
    named = [(name, p) for name, p in model.named_parameters() if id(p) in decaying]
    matrices = {id(p): p for name, p in named if ".blocks." in name and p.ndim == 2}
    rest = [group | {"params": [p for p in group["params"] if id(p) not in matrices]} for group in groups]
    return JointOptimizer(
        torch.optim.Muon(
            list(matrices.values()),
            lr=lr,
            weight_decay=weight_decay,
            momentum=MUON_MOMENTUM,
            adjust_lr_fn="match_rms_adamw",
        ),
        torch.optim.AdamW(rest, lr=lr, betas=betas, fused=True),
    )


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
