"""The experiments of the lab."""

import math
from collections.abc import Sequence

from tfcore.analysis.training.training_choices import (
    DECAYED,
    MOVED,
    clipped_steps,
    norms_kept,
    overfit_gaps,
    rate_shares,
    smoothed_target,
    smoothing,
    update_spreads,
)
from tfcore.analysis.training.training_runs import (
    gradient_state,
    head_maps,
    last_check,
    right_shares,
    right_tokens,
    run_ends,
    stage,
)
from tfcore.figures.shown import Shown
from tfcore.figures.training.training_choices import (
    clipping_figure,
    gap_figure,
    rates_figure,
    smoothing_figure,
    updates_figure,
    weight_norms_figure,
)
from tfcore.figures.training.training_runs import (
    answer_figure,
    compare_figure,
    dials_figure,
    head_maps_figure,
    right_shares_figure,
    run_figure,
)
from tfcore.measures.token_text import plotly_escape, tick_labels
from tfcore.training.lab.choices import DECAY, MOST_RATE, WARM
from tfcore.training.lab.curves import Curves, Look
from tfcore.training.lab.options import SCHEDULES, Norms, Rates, Updates
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import trained


def curves_of(spec: LabSpec) -> Curves:
    """The whole training of a spec; the same seed gives the same weights and batches."""
    return trained(spec).curves


def curves_of_each(specs: Sequence[LabSpec]) -> list[Curves]:
    """The whole training of each of several specs."""
    return [trained(spec).curves for spec in specs]


def training(curves: Curves, spec: LabSpec) -> Shown:
    """A small Transformer trained from random weights: its loss and accuracy, on rows trained on and held out."""
    vocab = len(task(spec).names)
    figure = run_figure(curves, spec.steps, math.log(vocab), height=360)
    return Shown(figure, (last_check(curves, vocab), stage(curves, spec.task)))


def maps(look: Look, height: int) -> Shown:
    """The attention patterns of all heads on a held-out row."""
    return Shown(head_maps_figure(look, height), (head_maps(look),))


def answer(look: Look, names: Sequence[str]) -> Shown:
    """The end of a held-out row, under teacher forcing and free-running."""
    return Shown(answer_figure(look, tick_labels(names, 4), height=170), (right_tokens(look),))


def places(look: Look) -> Shown:
    """The share of right tokens by place of the answer, over all held-out rows."""
    return Shown(right_shares_figure(look, height=230), (right_shares(look),))


def dials(curves: Curves, spec: LabSpec) -> Shown:
    """The norm of the gradient and the learning rate of every step."""
    return Shown(dials_figure(curves, spec.steps, spec.clip, height=230), (gradient_state(curves, spec.clip),))


def compare(runs: Sequence[tuple[str, Curves]], accuracy: bool) -> Shown:
    """Held-out accuracy or loss of several runs."""
    named = [(plotly_escape(name), curves) for name, curves in runs]
    return Shown(compare_figure(named, accuracy, height=380), (run_ends(runs, accuracy),))


def clipping(curves: Curves, spec: LabSpec) -> Shown:
    """The gradients of a training, and how many of its steps are clipped."""
    return Shown(clipping_figure(curves, spec.clip, height=380), (clipped_steps(curves, spec.clip),))


def by_dropout(runs: Sequence[Curves], specs: Sequence[LabSpec]) -> list[tuple[str, Curves]]:
    """The curves of trainings, each with its dropout."""
    return [(f"dropout {spec.dropout:g}", curves) for spec, curves in zip(specs, runs, strict=True)]


def dropout(runs: Sequence[Curves], specs: Sequence[LabSpec]) -> Shown:
    """Overfitting in trainings that differ in dropout: loss on rows trained on, and held out."""
    named = by_dropout(runs, specs)
    return Shown(gap_figure(named, height=380), (overfit_gaps(named),))


def schedule(found: Rates, spec: LabSpec) -> Shown:
    """Three schedules of the learning rate with the same warm-up and peak."""
    figure = rates_figure(found, SCHEDULES, spec.schedule, height=380)
    return Shown(figure, (rate_shares(found, spec.steps, spec.warmup, spec.lr),))


def optimisers(found: Sequence[Updates], spec: LabSpec) -> Shown:
    """How far one step of each optimiser moves each matrix, beside the size of its gradient."""
    spreads = update_spreads(found, WARM, min(spec.lr, MOST_RATE))
    return Shown(updates_figure(found, MOVED, height=380), (spreads,))


def decay(found: Sequence[Norms], spec: LabSpec) -> Shown:
    """Weight decay under AdamW, in Adam's gradient, and none: the norm of the weights, step by step."""
    kept = norms_kept(found, spec.lr, spec.weight_decay or DECAY, own=bool(spec.weight_decay))
    return Shown(weight_norms_figure(found, DECAYED, height=380), (kept,))


def labels(amount: float, vocab: int) -> Shown:
    """Label smoothing: the loss against the probability of the right token."""
    found = smoothing(amount, vocab)
    return Shown(smoothing_figure(found, height=380), (smoothed_target(found),))
