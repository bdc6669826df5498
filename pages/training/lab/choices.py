"""The lab: what each choice in training changes, one small live picture each."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.lab import experiments as experiments
from pages.training.lab.settings import OPTIMISERS, SCHEDULES
from pages.training.lab.watch import curve_table, token_names
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.work import runs
from pages.ui.work.run_records import Seen
from tfcore.analysis.training.training_choices import Norms, Rates, Smoothing, Updates, smoothing, smoothing_target
from tfcore.figures.training import training_choices as figures
from tfcore.training.lab import choices
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import one_step
from tfcore.training.optim import adamw, decay_groups, optimiser, rate, warmup_cosine, warmup_inverse_sqrt

HEIGHT = 380
MOVED = OPTIMISERS | {choices.PLAIN: "SGD, no momentum"}
DECAYED = {"adamw": "AdamW", "adam": "Adam + L2", "none": "no decay"}

rates: Callable[[int, int, float], Rates] = cache.data(max_entries=64)(choices.rates)
smoothed: Callable[[float, int], Smoothing] = cache.data(max_entries=64)(smoothing)


@cache.data(max_entries=32)
def updates(spec: LabSpec) -> list[Updates]:
    return choices.updates(spec)


@cache.data(max_entries=32)
def norms(spec: LabSpec) -> list[Norms]:
    return choices.norms(spec)


def schedule(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """Three schedules with the same warm-up and peak."""
    found = rates(spec.steps, spec.warmup, spec.lr)
    half = {kind: values[len(values) // 2] / spec.lr for kind, values in found.by_schedule.items()}
    said = ", ".join(f"{SCHEDULES[kind]} {share:.0%}" for kind, share in half.items())
    figure(
        figures.rates_figure(found, SCHEDULES, spec.schedule, HEIGHT),
        key="rates",
        height=HEIGHT,
        min_width=320,
        alt=f"Learning rate over {spec.steps:,} steps with a peak of {spec.lr:g}; half-way: {said}.",
        caption=f"Warm-up of {spec.warmup} steps to {spec.lr:g}. Left of the peak after half of the "
        f"{spec.steps:,} steps: {said}. Strong: the one chosen.",
        table=lambda: pd.DataFrame({"step": found.step, **found.by_schedule}),
    )
    page.what_to_see(
        "Warm-up: Adam's first steps divide by an estimate made of one or two gradients, so they are kept small. The "
        "cosine must know when training ends; the inverse square root need not, and can go on for ever "
        "(arXiv:1608.03983, eq. 5; arXiv:1706.03762, eq. 3)."
    )
    page.source(rate, warmup_cosine, warmup_inverse_sqrt)
    page.experiment(experiments.schedule, spec)
    left = found.by_schedule["inverse_sqrt"][-1] / spec.lr
    page.question(
        "At the last step you find that twice as many steps are needed. Under which schedules can training just go on?",
        f"Where the line has not come to 0: the inverse square root still has {left:.0%} of its peak there, the "
        "constant all of it. The cosine ends at 0, so it has to begin again at a higher rate.",
    )


def optimisers(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """How far one step moves each matrix."""
    found = updates(spec)
    spread = {one.kind: one.spread for one in found}
    said = ", ".join(f"{MOVED[kind]} {value:,.1f} times" for kind, value in spread.items())
    adam = next(one.update for one in found if one.kind == "adam") / min(spec.lr, 1.0)
    figure(
        figures.updates_figure(found, MOVED, HEIGHT),
        key="updates",
        height=HEIGHT,
        min_width=320,
        alt=f"Size of the step against size of the gradient, tensor by tensor. Largest over smallest step: {said}.",
        caption=f"Every matrix of this model after {choices.WARM} steps at learning rate {spec.lr:g}: the matrix moved "
        f"most moves farther than the one moved least: {said}. Adam's move by {adam.min():.2f} to {adam.max():.2f} of "
        "the learning rate.",
        table=lambda: pd.DataFrame(
            [(one.kind, *row) for one in found for row in zip(one.tensors, one.gradient, one.update, strict=True)],
            columns=["optimiser", "tensor", "gradient", "update"],
        ),
    )
    page.what_to_see(
        "SGD lies on a rising line: a matrix with a small gradient hardly moves. Adam divides each gradient by its own "
        "usual size, so all matrices move by a similar part of the learning rate (not by all of it: gradients that "
        "change their sign partly cancel out in the mean): that is why one rate suits them all, and why a rate for SGD "
        "must be ten to a hundred times higher. Momentum adds a share of all steps before to each: SGD's points rise, "
        "their order stays. AdamW differs from Adam in what weight decay does (arXiv:1412.6980, algorithm 1; "
        "arXiv:1711.05101, algorithm 2): with decay 0 their points coincide."
    )
    page.source(choices.updates, optimiser, adamw)
    page.experiment(experiments.optimisers, spec)
    page.question(
        "One rate has to do for all matrices. Under which optimiser do those with small gradients fall behind?",
        f"Under SGD: its points rise with the gradient, and the matrix moved most moves {spread['sgd']:,.1f} times as "
        f"far as the one moved least. Adam's lie level: {spread['adam']:,.1f} times.",
    )


def decay(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """The norm of the weights that decay, and of all others."""
    found, amount = norms(spec), spec.weight_decay or choices.DECAY
    end = {one.kind: float(one.decayed[-1]) for one in found}
    rest = {one.kind: float(one.rest[-1]) for one in found}
    said = ", ".join(f"{DECAYED[kind]} {value:.0%}" for kind, value in end.items())
    figure(
        figures.norms_figure(found, DECAYED, HEIGHT),
        key="decay",
        height=HEIGHT,
        min_width=320,
        alt=f"Norm of the weights over {choices.DECAYING} steps with weight decay {amount:g}. Matrices end at: {said}.",
        caption=f"{choices.DECAYING} steps of this model at learning rate {spec.lr:g} with weight decay {amount:g}"
        f"{'' if spec.weight_decay else ' (your run has none)'}. Of their first norm the matrices keep: {said}; the "
        f"rest, {min(rest.values()):.0%} to {max(rest.values()):.0%}.",
        table=lambda: pd.DataFrame(
            {"step": np.arange(choices.DECAYING + 1)}
            | {
                f"{one.kind}, {which}": values
                for one in found
                for which, values in (("matrices", one.decayed), ("the rest", one.rest))
            }
        ),
    )
    page.what_to_see(
        "Solid are the matrices, which decay; dashed all others, which do not: the tables of embeddings, the scales of "
        "norms, the biases. AdamW takes a share lr · decay off each weight beside the step, which is little in a few "
        "steps. With the decay in the gradient (L2), Adam divides it by the gradient's usual size: where gradients are "
        "small the decay is most of the step, and the matrices shrink fast (arXiv:1711.05101, section 2)."
    )
    page.source(choices.norms, optimiser, decay_groups, adamw)
    page.experiment(experiments.decay, spec)
    page.question(
        f"Adam with weight decay {amount:g} in the gradient and AdamW with {amount:g}: which shrinks the matrices more "
        "here, and why?",
        f"After {choices.DECAYING} steps they have {end['adam']:.0%} of their norm under Adam and {end['adamw']:.0%} "
        f"under AdamW, {end['none']:.0%} without decay. Adam divides the decay by the gradient's usual size too; AdamW "
        f"takes the same share off all weights, lr · {amount:g} in every step.",
    )


def clipping(_: LabSpec, seen: Seen | None, __: list[str]) -> None:
    """The gradients of the run, before and after."""
    if seen is None or seen.curves is None or not len(seen.curves.step):
        st.info("There is no step of a run yet: start one, or choose another picture.")
        return
    curves, clip = seen.curves, seen.spec.clip
    over = float((curves.norm > clip).mean()) if clip else 0.0
    said = f"{over:.0%} of {len(curves.norm):,} steps were cut, the largest norm was {curves.norm.max():.2f}"
    figure(
        figures.clipping_figure(curves, clip, HEIGHT),
        key="clipping",
        height=HEIGHT,
        min_width=320,
        alt=f"Gradient norm of every step of the run: {said}.",
        caption=f"The run's own gradients, {f'clipped to {clip:g}' if clip else 'not clipped'}: {said}.",
        table=lambda: pd.DataFrame(
            {
                "step": curves.step,
                "before": curves.norm,
                "after": np.minimum(curves.norm, clip) if clip else curves.norm,
            }
        ),
    )
    page.what_to_see(
        "Clipping keeps the direction of a gradient and shortens it to the bound: g · min(1, c / |g|) "
        "(arXiv:1211.5063, section 3.2). It acts where the loss falls steeply, when a single batch could throw the "
        "weights far away. Under Adam, which divides by the size anyway, it matters less than under SGD."
    )
    page.source(one_step)
    page.experiment(experiments.clipping, seen.spec)
    half = clip / 2 or float(np.median(curves.norm))
    page.question(
        f"How many steps would a bound of {half:.2g} cut?",
        f"Those whose line before clipping lies above it: {(curves.norm > half).mean():.0%}"
        f"{f', instead of {over:.0%} with {clip:g}' if clip else ''}. The largest of them would be cut to "
        f"{half / curves.norm.max():.0%} of its length.",
    )


def labels(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """The loss with smoothed targets."""
    vocab = len(token_names(spec))
    found = smoothed(spec.smoothing, vocab)
    said = (
        f"with smoothing {spec.smoothing:g} over {vocab} tokens the target is {found.target:.3f} for the right one and "
        f"{found.other:.4f} for each other; the loss cannot fall below {found.floor:.3f} nats"
    )
    figure(
        figures.smoothing_figure(found, HEIGHT),
        key="smoothing",
        height=HEIGHT,
        min_width=320,
        alt=f"Loss against the probability of the right token: {said}.",
        caption=f"{said[0].upper()}{said[1:]}.",
        table=lambda: pd.DataFrame({"probability": found.probability, "plain": found.plain, "smoothed": found.loss}),
    )
    page.what_to_see(
        "Without smoothing the loss pulls the right token towards probability 1 for ever. With it, being too sure "
        "costs: the lowest point lies before 1, and it is not 0. That is why the loss of the batches stays above the "
        "held-out loss, which is measured plainly (arXiv:1512.00567, section 7; 0.1 in arXiv:1706.03762, section 5.4)."
    )
    page.source(smoothing, smoothing_target)
    page.experiment(experiments.labels, spec.smoothing, vocab)
    page.question(
        "A model gives the right token probability 0.999. Would it be better to be a little less sure?",
        f"With smoothing {spec.smoothing:g} the curve is lowest at {found.best:.3f}. "
        + (
            "Beyond it, what goes up is the price of the others, which get next to nothing: yes."
            if spec.smoothing
            else "Without smoothing more is always better: no. Set it to 0.1 and look again."
        ),
    )


def dropout(spec: LabSpec, seen: Seen | None, mine: list[str]) -> None:
    """Trained on against held out, for the run and for those of the same task beside it."""
    kept = [run for run in (runs.RUNS.look(name) for name in mine) if run is not None and run.curves is not None]
    kept = [run for run in kept if seen is None or run.name != seen.name] + ([seen] if seen is not None else [])
    task = seen.spec.task if seen is not None else spec.task
    shown = [(f"dropout {run.spec.dropout:g}", run.curves) for run in kept if run.spec.task == task and run.curves][-3:]
    if not shown:
        st.info("There is no run of this task yet: start one, or choose another picture.")
        return
    gaps = [float(c.held_loss[-1] - c.train_loss[-1]) for _, c in shown]
    said = "; ".join(f"{name}: gap {gap:+.2f} nats" for (name, _), gap in zip(shown, gaps, strict=True))
    figure(
        figures.gap_figure(shown, HEIGHT),
        key="gap",
        height=HEIGHT,
        min_width=320,
        alt=f"Loss on rows trained on and held out. {said}.",
        caption=f"Loss held out less loss on what it trains on: {said}. Both measured without dropout.",
        table=lambda: pd.concat([curve_table(c).assign(run=name) for name, c in shown]),
    )
    page.what_to_see(
        "The gap between the dashed and the solid line is overfitting: what was memorised. Dropout zeroes a random "
        "part of every layer's output in each step (arXiv:1207.0580), so that nothing can rely on a single detail: "
        "both lines fall more slowly, and they part later. On tasks whose rows are always new there is no gap to "
        "close, and dropout only slows. Try it on the characters of a text: train once with 0 and once with 0.2."
    )
    page.source(one_step)
    page.experiment(experiments.training, seen.spec if seen is not None else spec)
    apart, best = int(np.argmax(gaps)), int(np.argmin([c.held_loss[-1] for _, c in shown]))
    page.question(
        "Which run overfits most, and which does best on held-out data?",
        f"Overfits most: the one whose lines are furthest apart at the end, here {shown[apart][0]} with "
        f"{gaps[apart]:+.2f} nats. Best on new text: the lowest solid line, here {shown[best][0]} with "
        f"{shown[best][1].held_loss[-1]:.2f} nats. A gap alone is no fault.",
    )


PICTURES: dict[str, tuple[str, Callable[[LabSpec, Seen | None, list[str]], None]]] = {
    "schedule": ("schedule", schedule),
    "optimiser": ("optimiser", optimisers),
    "decay": ("weight decay", decay),
    "clipping": ("clipping", clipping),
    "smoothing": ("label smoothing", labels),
    "dropout": ("dropout", dropout),
}


def changes(spec: LabSpec | str, seen: Seen | None, mine: list[str]) -> None:
    """The section."""
    names = {key: name for key, (name, _) in PICTURES.items()}
    chosen = controls.segmented("What changes with the", "choice", list(PICTURES), "schedule", names)
    if isinstance(spec, str):
        st.info("These settings cannot be trained, so there is nothing to show: the reason stands beside them.")
    else:
        PICTURES[chosen][1](spec, seen, mine)
