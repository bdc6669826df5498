"""What the optimiser and the schedule change, measured on the very model and task that are being trained."""

from dataclasses import replace
from typing import get_args

import numpy as np
import torch

from tfcore.analysis.training_choices import Rates, Updates
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import one_step, started
from tfcore.training.optim import Optimiser, Schedule, rate

WARM, MOST_ROWS = 8, 16  # steps before the one that is measured, so that the optimiser remembers some; rows of each
POINTS = 400


def rates(steps: int, warmup: int, lr: float) -> Rates:
    """The learning rate under every schedule."""
    at = np.unique(np.linspace(0, steps - 1, min(steps, POINTS)).astype(np.int32))
    return Rates(
        at, {kind: np.array([rate(kind, int(s), steps, warmup, lr) for s in at]) for kind in get_args(Schedule)}
    )


def updates(spec: LabSpec) -> list[Updates]:
    """The same few steps with each optimiser, and how far the last of them moves every matrix.

    For SGD the step is lr times the gradient's momentum, so it is as large as the gradient is. Adam divides by the
    gradient's own size: every weight moves by about lr.
    """
    return [
        _updates(replace(spec, optimiser=kind, schedule="constant", warmup=1), kind) for kind in get_args(Optimiser)
    ]


def _updates(spec: LabSpec, kind: str) -> Updates:
    spec = replace(spec, rows=min(spec.rows, MOST_ROWS), lr=min(spec.lr, 1.0))
    material, (model, optimizer) = task(spec), started(spec, None)
    for step in range(WARM):
        one_step(model, optimizer, material.batch(spec, step), spec, step)
    before = {name: p.detach().clone() for name, p in model.named_parameters() if p.ndim == 2}
    one_step(model, optimizer, material.batch(spec, WARM), spec, WARM)
    moved = {name: p for name, p in model.named_parameters() if name in before and p.grad is not None}
    return Updates(
        kind, tuple(moved),
        np.array([_size(p.grad) for p in moved.values() if p.grad is not None]),
        np.array([_size(p.detach() - before[name]) for name, p in moved.items()]),
    )  # fmt: skip


def _size(tensor: torch.Tensor) -> float:
    """Root mean square."""
    return max(float(tensor.square().mean().sqrt()), 1e-12)
