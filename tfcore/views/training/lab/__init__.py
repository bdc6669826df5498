"""A small training of the lab: how it goes, what each of its choices changes, and several beside each other.

A view of a run takes its settings, and trains by itself to the end unless it is given what there is until now.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from tfcore.measures.stored import read
from tfcore.measures.token_text import plotly_escape, shorten, tick_labels, visible
from tfcore.training.lab import option_effects
from tfcore.training.lab.curves import Curves, Evaluation, free_running, look
from tfcore.training.lab.option_effects import DECAY, DECAYING, MOST_RATE, WARM
from tfcore.training.lab.options import SCHEDULES
from tfcore.training.lab.setting_words import apart
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import PROBED_ROWS, Slice, one_step, train_slice, trained
from tfcore.training.optim import adamw, decay_groups, muon, optimiser, rate, warmup_cosine, warmup_inverse_sqrt
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.training.lab.draw.option_effects import (
    clipping_figure,
    gap_figure,
    rates_figure,
    smoothing_figure,
    updates_figure,
    weight_norms_figure,
)
from tfcore.views.training.lab.draw.runs import (
    answer_figure,
    compare_figure,
    dials_figure,
    head_maps_figure,
    right_shares_figure,
    run_figure,
    tokens_a_cell,
)
from tfcore.views.training.lab.measure import smoothing, smoothing_target
from tfcore.views.training.lab.say.option_effects import (
    DECAYED,
    MOVED,
    clipped_steps,
    norms_kept,
    overfit_gaps,
    rate_shares,
    smoothed_target,
    update_spreads,
)
from tfcore.views.training.lab.say.runs import (
    head_maps,
    last_check,
    last_gradient,
    right_shares,
    right_tokens,
    run_ends,
    stage,
)
from tfcore.views.view import View, view

By = Literal["accuracy", "loss"]
STORED = Path(__file__).with_name("stored.json")
SHOWN = 4  # characters of a token
BEGINNING = 120  # characters of a row
NAME = 40  # characters of the settings that tell a run apart
HEIGHT = 380  # pixels of a picture that stands alone
NARROW = 320  # pixels that a picture needs at least
FORMULA = (
    r"\theta_{t+1} = \theta_t - \eta_t \, u\!\left(\nabla_\theta \, \tfrac{1}{|B|}\sum_{i \in B} "
    r"-\log p_\theta(x_i \mid x_{<i})\right)"
)
PAPERS = (
    "In the formula η is the learning rate of the schedule, u the update that the optimiser makes of the gradient: "
    "with SGD the gradient plus momentum, with Adam m / (√v + ε) (arXiv:1412.6980, algorithm 1), to which AdamW adds "
    "the decay (arXiv:1711.05101, algorithm 2), with Muon the momentum of a matrix made nearly orthogonal "
    "(arXiv:2502.16982, eq. 4). Teacher forcing and free-running generation: arXiv:1506.03099, section "
    "2. Copying as a test of sequence models: arXiv:1410.5401; reversing: arXiv:1506.02516."
)


def _whole_run(spec: LabSpec) -> Slice:
    """A training to its end; the same seed gives the same weights and batches. Its weights are let go of."""
    return replace(trained(spec), state=b"")


def _token_names(spec: LabSpec) -> tuple[str, ...]:
    return task(spec).names


whole_run = kept(_whole_run, entries=8)
token_names = kept(_token_names, entries=64)
rates_of = kept(option_effects.rates, entries=64)
updates_of = kept(option_effects.updates, entries=32)
norms_of = kept(option_effects.norms, entries=32)


class StoredRun(NamedTuple):
    """A training to its end: its curves, and the model as it is then."""

    curves: Curves
    look: Evaluation


@cache
def stored_runs() -> dict[LabSpec, StoredRun]:
    """Trainings that ship."""

    def arrays(values: dict[str, Any]) -> dict[str, Any]:
        return {name: np.array(value) if isinstance(value, list) else value for name, value in values.items()}

    def run(curves: dict[str, Any], look: dict[str, Any]) -> StoredRun:
        return StoredRun(Curves(**arrays(curves)), Evaluation(**arrays(look)))

    return {spec: one for spec, (one,) in read(STORED, LabSpec, run, list).items()}


# ---- a run ----


@view
def course(spec: LabSpec, *, so_far: Curves | None = None) -> View:
    """A small Transformer trained from random weights: its loss and accuracy, on rows trained on and held out.

    Args:
        spec: its task, its model and how it is trained.
        so_far: its curves until now; None trains to the end.
    """
    curves = whole_run(spec).curves if so_far is None else so_far
    vocab = len(token_names(spec))
    checked = last_check(curves, vocab)
    return View(
        key="curves",
        title="Loss and accuracy",
        result=curves,
        chart=run_figure(curves, spec.steps, math.log(vocab), height=360),
        min_width=NARROW,
        findings=(checked,),
        described=state("curves", "Loss and accuracy over the steps. {check}", check=checked),
        conclusions=(stage(curves, spec.task),),
        table=lambda: curve_table(curves),
        formula=FORMULA,
        papers=PAPERS,
        code=(train_slice, one_step, look, free_running),
    )


def curve_table(curves: Curves) -> pd.DataFrame:
    """Every step, with the checks where there were some."""
    steps = pd.DataFrame(
        {"step": curves.step, "batch loss": curves.loss, "gradient norm": curves.norm, "learning rate": curves.lr}
    )
    checks = pd.DataFrame(
        {
            "step": curves.at,
            "train loss": curves.train_loss,
            "train accuracy": curves.train_accuracy,
            "held-out loss": curves.held_loss,
            "held-out accuracy": curves.held_accuracy,
        }
    )
    return steps.merge(checks, on="step", how="outer")


@view
def maps(spec: LabSpec, *, so_far: Evaluation | None = None) -> View:
    """The attention patterns of all heads of a small Transformer on a held-out row, after its training. See course.

    Args:
        so_far: the model as it is now; None trains to the end.
    """
    now = whole_run(spec).look if so_far is None else so_far
    layers, heads, n, _ = now.patterns.shape
    every = tokens_a_cell(now)
    row = " ".join(_words(spec, now.ids[: now.start]))[:BEGINNING]
    cells = f"; each cell is the largest weight of {every} x {every} tokens" if every > 1 else ""
    return View(
        key="maps",
        title="Attention patterns",
        result=now,
        chart=head_maps_figure(now, height=min(760, layers * (190 if heads > 2 else 260))),
        min_width=NARROW,
        findings=(head_maps(now),),
        note=f"Shape (layer, head, query, key) = {now.patterns.shape}; the row begins: {row}{cells}.",
        table=lambda: pd.DataFrame(now.patterns.reshape(-1, n)),
    )


@view
def answer(spec: LabSpec, *, so_far: Evaluation | None = None) -> View:
    """The end of that held-out row, under teacher forcing and free-running. See maps."""
    now = whole_run(spec).look if so_far is None else so_far
    right = right_tokens(now)
    return View(
        key="answer",
        title="The model's answer",
        result=now,
        chart=answer_figure(now, tick_labels(token_names(spec), SHOWN), height=170),
        min_width=min(560, 150 + 26 * len(now.wanted)),
        findings=(state("answer", "The end of that row. {right}", right=right),),
        described=state("answer", "The model's answer. {right}", right=right),
        note="Teacher forcing: every earlier token is the true one. Free-running: the model reads its own output, so "
        "one mistake may spoil the rest.",
        table=lambda: _answer_table(spec, now),
    )


def _answer_table(spec: LabSpec, now: Evaluation) -> pd.DataFrame:
    """The three rows of tokens, and how sure the model was of the right one."""
    rows = {"right": now.wanted, "teacher forcing": now.forced, "free-running": now.free}
    tokens = {name: _words(spec, ids) for name, ids in rows.items()}
    return pd.DataFrame({**tokens, "probability of the right one": now.sure})


def _words(spec: LabSpec, ids: Iterable[int]) -> list[str]:
    """Tokens as they are said, and not as plotly is given them."""
    names = token_names(spec)
    return [shorten(visible(names[int(i)]), SHOWN) for i in ids]


@view
def places(spec: LabSpec, *, so_far: Evaluation | None = None) -> View:
    """The share of right tokens by place of the answer, over several held-out rows. See maps."""
    now = whole_run(spec).look if so_far is None else so_far
    right = right_shares(now)
    return View(
        key="places",
        title="Right tokens by place",
        result=now,
        chart=right_shares_figure(now, height=230),
        min_width=280,
        findings=(state("right by place", "{rows} held-out rows: {right}", rows=PROBED_ROWS, right=right),),
        described=state("right by place", "Share of right tokens by place: {right}", right=right),
        table=lambda: pd.DataFrame(
            {
                "place": np.arange(1, len(now.wanted) + 1),
                "teacher forcing": now.by_place_forced,
                "free-running": now.by_place_free,
            }
        ),
    )


@view
def dials(spec: LabSpec, *, so_far: Curves | None = None) -> View:
    """The norm of the gradient and the learning rate of every step of a small training. See course."""
    curves = whole_run(spec).curves if so_far is None else so_far
    last = last_gradient(curves, spec.clip)
    return View(
        key="dials",
        title="Gradient norm and learning rate",
        result=curves,
        chart=dials_figure(curves, spec.steps, spec.clip, height=230),
        min_width=280,
        findings=(last,),
        described=state("dials", "Norm of the gradient and learning rate of every step. Now: {last}", last=last),
        table=lambda: pd.DataFrame({"step": curves.step, "norm": curves.norm, "rate": curves.lr}),
    )


# ---- what each choice changes ----


@view
def schedule(spec: LabSpec) -> View:
    """Three schedules of the learning rate with the same warm-up and peak.

    Args:
        spec: a training; its steps, warm-up and learning rate count.
    """
    rates = rates_of(spec.steps, spec.warmup, spec.lr)
    shares = rate_shares(rates, spec.steps, spec.warmup, spec.lr)
    return View(
        key="rates",
        title="Schedules of the learning rate",
        result=rates,
        chart=rates_figure(rates, SCHEDULES, spec.schedule, HEIGHT),
        min_width=NARROW,
        findings=(shares,),
        described=state("rates", "Learning rate of each schedule. {shares}", shares=shares),
        note="Strong: the one chosen.",
        table=lambda: pd.DataFrame({"step": rates.step, **rates.by_schedule}),
        code=(rate, warmup_cosine, warmup_inverse_sqrt),
    )


@view
def optimisers(spec: LabSpec) -> View:
    """How far one step of each optimiser moves each matrix, beside the size of its gradient.

    Args:
        spec: a training, whose first steps are made with each optimiser.
    """
    updates = updates_of(spec)
    spreads = update_spreads(updates, WARM, min(spec.lr, MOST_RATE))
    return View(
        key="updates",
        title="One step of each optimiser",
        result=updates,
        chart=updates_figure(updates, MOVED, HEIGHT),
        min_width=NARROW,
        findings=(spreads,),
        described=state(
            "updates", "Size of the step against size of the gradient, tensor by tensor. {spreads}", spreads=spreads
        ),
        table=lambda: pd.DataFrame(
            [(one.kind, *row) for one in updates for row in zip(one.tensors, one.gradient, one.update, strict=True)],
            columns=["optimiser", "tensor", "gradient", "update"],
        ),
        code=(option_effects.updates, optimiser, adamw, muon),
    )


@view
def decay(spec: LabSpec) -> View:
    """Weight decay under AdamW, in Adam's gradient, and none: the norm of the weights, step by step.

    Args:
        spec: a training, whose first steps are made in each of these ways.
    """
    ways = norms_of(spec)
    left = norms_kept(ways, spec.lr, spec.weight_decay or DECAY, own=bool(spec.weight_decay))
    norms = {
        f"{one.kind}, {which}": values
        for one in ways
        for which, values in (("matrices", one.decayed), ("the rest", one.rest))
    }
    return View(
        key="decay",
        title="Weight decay",
        result=ways,
        chart=weight_norms_figure(ways, DECAYED, HEIGHT),
        min_width=NARROW,
        findings=(left,),
        described=state("decay", "Norm of the weights, step by step. {left}", left=left),
        table=lambda: pd.DataFrame({"step": np.arange(DECAYING + 1), **norms}),
        code=(option_effects.norms, optimiser, decay_groups, adamw),
    )


@view
def clipping(spec: LabSpec, *, so_far: Curves | None = None) -> View:
    """The gradients of a training before and after clipping, and how many of its steps are clipped. See course."""
    curves = whole_run(spec).curves if so_far is None else so_far
    cut = clipped_steps(curves, spec.clip)
    after = np.minimum(curves.norm, spec.clip) if spec.clip else curves.norm
    return View(
        key="clipping",
        title="Gradient clipping",
        result=curves,
        chart=clipping_figure(curves, spec.clip, HEIGHT),
        min_width=NARROW,
        findings=(cut,),
        described=state("clipping", "Gradient norm of every step. {cut}", cut=cut),
        table=lambda: pd.DataFrame({"step": curves.step, "before": curves.norm, "after": after}),
        code=(one_step,),
    )


@view
def label_smoothing(spec: LabSpec) -> View:
    """Label smoothing: the loss against the probability of the right token.

    Args:
        spec: a training; its smoothing and the number of its tokens count.
    """
    smoothed = smoothing(spec.smoothing, len(token_names(spec)))
    target = smoothed_target(smoothed)
    return View(
        key="smoothing",
        title="Label smoothing",
        result=smoothed,
        chart=smoothing_figure(smoothed, HEIGHT),
        min_width=NARROW,
        findings=(target,),
        described=state("smoothing", "Loss against the probability of the right token. {target}", target=target),
        table=lambda: pd.DataFrame(
            {"probability": smoothed.probability, "plain": smoothed.plain, "smoothed": smoothed.loss}
        ),
        code=(smoothing, smoothing_target),
    )


@view
def dropout(specs: Sequence[LabSpec], *, so_far: Sequence[Curves] | None = None) -> View:
    """Overfitting in trainings that differ in dropout: loss on rows trained on, and held out.

    Args:
        specs: of the trainings.
        so_far: their curves until now; None trains them to the end.
    """
    curves = [whole_run(spec).curves for spec in specs] if so_far is None else so_far
    runs = [(f"dropout {spec.dropout:g}", one) for spec, one in zip(specs, curves, strict=True)]
    gaps = overfit_gaps(runs)
    return View(
        key="gap",
        title="Overfitting",
        result=runs,
        chart=gap_figure(runs, HEIGHT),
        min_width=NARROW,
        findings=(gaps,),
        described=state("gap", "Loss on rows trained on and held out. {gaps}", gaps=gaps),
        note="Both measured without dropout.",
        table=lambda: _curve_tables(runs),
        code=(one_step,),
    )


# ---- runs beside each other ----


@view
def compare(specs: Sequence[LabSpec], by: By, *, so_far: Sequence[Curves] | None = None) -> View:
    """Held-out accuracy or loss of several trainings. See dropout."""
    curves = [whole_run(spec).curves for spec in specs] if so_far is None else so_far
    names = [shorten(f"{i + 1}: {settings}", NAME) for i, settings in enumerate(apart(specs))]
    runs = list(zip(names, curves, strict=True))
    ends = run_ends(runs, by == "accuracy")
    return View(
        key="compare",
        title="Runs compared",
        result=runs,
        chart=compare_figure([(plotly_escape(name), one) for name, one in runs], by == "accuracy", HEIGHT),
        min_width=NARROW,
        findings=(ends,),
        described=state("compare", "{runs} runs. {ends}", runs=len(runs), ends=ends),
        table=lambda: _curve_tables(runs),
        code=(LabSpec, train_slice),
    )


def _curve_tables(runs: Sequence[tuple[str, Curves]]) -> pd.DataFrame:
    return pd.concat([curve_table(curves).assign(run=name) for name, curves in runs])
