"""The experiments of the lab."""

import math

from tfcore.analysis.training.training_choices import smoothing
from tfcore.figures.theme import Figure
from tfcore.figures.training.training_choices import (
    clipping_figure,
    norms_figure,
    rates_figure,
    smoothing_figure,
    updates_figure,
)
from tfcore.figures.training.training_runs import curves_figure
from tfcore.training.lab.choices import norms, rates, updates
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import train_slice


def training(spec: LabSpec) -> Figure:
    """A small Transformer trained from nothing: what it is to learn, its size, its optimiser."""
    # The same seed gives the same weights and batches; all steps in one go.
    result = train_slice(spec, 0, None, most=spec.steps, seconds=math.inf)
    curves, look = result.curves, result.look
    for step, loss, accuracy in zip(curves.at, curves.held_loss, curves.held_accuracy, strict=True):
        print(f"step {step:5}: held-out loss {loss:.3f} nats, {accuracy:.0%} of tokens right")
    names = task(spec).names
    print("right: ", *(names[i] for i in look.wanted))
    print("answer:", *(names[i] for i in look.free))

    return curves_figure(curves, spec.steps, math.log(len(names)), height=360)


def clipping(spec: LabSpec) -> Figure:
    """The gradients of a training, and how many of its steps are clipped."""
    curves = train_slice(spec, 0, None, most=spec.steps, seconds=math.inf).curves
    if spec.clip:
        print(f"{(curves.norm > spec.clip).mean():.0%} of {len(curves.norm):,} steps were cut to {spec.clip:g}")
    print(f"the largest norm was {curves.norm.max():.2f}")

    return clipping_figure(curves, spec.clip, height=380)


def schedule(spec: LabSpec) -> Figure:
    """Three schedules of the learning rate with the same warm-up and peak."""
    found = rates(spec.steps, spec.warmup, spec.lr)
    for kind, values in found.by_schedule.items():
        print(f"{kind}: {values[len(values) // 2] / spec.lr:.0%} of the peak half-way")

    return rates_figure(found, {kind: kind for kind in found.by_schedule}, spec.schedule, height=380)


def optimisers(spec: LabSpec) -> Figure:
    """How far one step of each optimiser moves each matrix, beside the size of its gradient."""
    found = updates(spec)
    for one in found:
        print(f"{one.kind}: the matrix moved most moves {one.spread:,.1f} times as far as the one moved least")

    return updates_figure(found, {one.kind: one.kind for one in found}, height=380)


def decay(spec: LabSpec) -> Figure:
    """Weight decay under AdamW, in Adam's gradient, and none: the norm of the weights, step by step."""
    found = norms(spec)
    for one in found:
        print(f"{one.kind}: after {len(one.decayed) - 1} steps the matrices have {one.decayed[-1]:.0%} of their norm")

    return norms_figure(found, {one.kind: one.kind for one in found}, height=380)


def labels(amount: float, vocab: int) -> Figure:
    """Label smoothing: the loss against the probability of the right token."""
    found = smoothing(amount, vocab)
    print(f"target {found.target:.3f} for the right token, {found.other:.4f} for each other")
    print(f"the loss cannot fall below {found.floor:.3f} nats")

    return smoothing_figure(found, height=380)
