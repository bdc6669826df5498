"""Effects of optimiser, schedule and weight decay, measured on the model and task that are trained."""

import math
from dataclasses import replace
from typing import get_args

import numpy as np
import torch

from tfcore.training.lab.options import PLAIN, Norms, Rates, Updates
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import ALONE, one_step, started
from tfcore.training.optim import Optimiser, Schedule, rate

WARM = 8  # steps before the one that is measured, so that momentum and Adam's averages are filled
MOST_ROWS = 16  # of each step: more take longer and change little
MOST_RATE = 1.0  # learning rate
POINTS = 400  # of a curve of learning rates
DECAY = 0.1  # the weight decay that is shown where none is chosen
DECAYING = 40  # steps with it


def rates(steps: int, warmup: int, lr: float) -> Rates:
    """The learning rate under every schedule."""
    at = np.unique(np.linspace(0, steps - 1, min(steps, POINTS)).astype(np.int32))
    return Rates(
        at, {kind: np.array([rate(kind, int(s), steps, warmup, lr) for s in at]) for kind in get_args(Schedule)}
    )


def updates(spec: LabSpec) -> list[Updates]:
    """How far the step after WARM others moves every matrix, with each optimiser.

    For SGD the step is lr times the gradient, or with momentum times the sum of this one and a share of those before,
    so it is as large as the gradients are. Adam divides by the gradient's own size: every weight moves by a similar
    part of lr.
    """
    with ALONE:
        return [
            *(_updates(replace(spec, optimiser=kind), kind) for kind in get_args(Optimiser)),
            _updates(replace(spec, optimiser="sgd", momentum=0.0), PLAIN),
        ]


def _updates(spec: LabSpec, kind: str) -> Updates:
    spec = _steady(spec)
    material, (model, optimizer) = task(spec), started(spec, None)
    for step in range(WARM):
        one_step(model, optimizer, material.batch(spec, step), spec, step)
    before = {name: p.detach().clone() for name, p in model.named_parameters() if p.ndim == 2}
    one_step(model, optimizer, material.batch(spec, WARM), spec, WARM)
    moved = {name: p for name, p in model.named_parameters() if name in before and p.grad is not None}
    return Updates(
        kind,
        tuple(moved),
        np.array([_size(p.grad) for p in moved.values() if p.grad is not None]),
        np.array([_size(p.detach() - before[name]) for name, p in moved.items()]),
    )


def _steady(spec: LabSpec) -> LabSpec:
    """The same spec with few rows and a constant learning rate."""
    return replace(spec, rows=min(spec.rows, MOST_ROWS), lr=min(spec.lr, MOST_RATE), schedule="constant", warmup=1)


def norms(spec: LabSpec, steps: int = DECAYING) -> list[Norms]:
    """Norms of the weights in the same training with AdamW, with Adam and the decay in its gradient, and with none."""
    spec = replace(spec, weight_decay=spec.weight_decay or DECAY)
    with ALONE:
        return [
            _norms(replace(spec, optimiser="adamw"), "adamw", steps),
            _norms(replace(spec, optimiser="adam"), "adam", steps),
            _norms(replace(spec, optimiser="adamw", weight_decay=0.0), "none", steps),
        ]


def _norms(spec: LabSpec, kind: str, steps: int) -> Norms:
    spec = _steady(spec)
    material, (model, optimizer) = task(spec), started(spec, None)
    groups = [group["params"] for group in optimizer.param_groups]  # those that decay, and all others
    sizes = [[_norm(group) for group in groups]]
    for step in range(steps):
        one_step(model, optimizer, material.batch(spec, step), spec, step)
        sizes.append([_norm(group) for group in groups])
    decayed, rest = np.array(sizes).T
    return Norms(kind, decayed / decayed[0], rest / rest[0])


def _norm(tensors: list[torch.Tensor]) -> float:
    return math.sqrt(sum(float(tensor.detach().square().sum()) for tensor in tensors))


def _size(tensor: torch.Tensor) -> float:
    """Root mean square."""
    return max(float(tensor.square().mean().sqrt()), 1e-12)
