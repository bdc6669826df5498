"""The lab: what each choice in training changes, one small live picture each."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.lab import experiments
from pages.training.lab.watch import curve_table, token_names
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import runs
from pages.ui.work.run_records import Seen
from tfcore.analysis.training import training_choices
from tfcore.analysis.training.training_choices import smoothing, smoothing_target
from tfcore.figures.shown import Shown
from tfcore.training.lab import choices
from tfcore.training.lab.curves import Curves
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.train import one_step
from tfcore.training.optim import adamw, decay_groups, optimiser, rate, warmup_cosine, warmup_inverse_sqrt

HEIGHT = 380
COMPARED = 3  # runs that differ in dropout, the last ones

rates = cache.data(max_entries=64)(choices.rates)
updates = cache.data(max_entries=32)(choices.updates)
norms = cache.data(max_entries=32)(choices.norms)


def picture(shown: Shown, key: str, table: Callable[[], pd.DataFrame], before: str = "", after: str = "") -> None:
    """The figure of a choice, with words before its finding in the alternative text and after it in the caption."""
    figure(
        shown.figure,
        key=key,
        height=HEIGHT,
        min_width=320,
        alt=f"{before}{shown.alt}",
        caption=f"{shown.caption}{after}",
        table=table,
    )


def schedule(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """Three schedules with the same warm-up and peak."""
    given = spec.steps, spec.warmup, spec.lr
    found = rates(*given)
    picture(
        experiments.schedule(found, spec),
        "rates",
        lambda: pd.DataFrame({"step": found.step, **found.by_schedule}),
        "Learning rate of each schedule. ",
        " Strong: the one chosen.",
    )
    page.what_to_see(
        "Warm-up: Adam's first steps divide by an estimate made of one or two gradients, so they are kept small. The "
        "cosine must know when training ends; the inverse square root need not, and can go on for ever "
        "(arXiv:1608.03983, eq. 5; arXiv:1706.03762, eq. 3)."
    )
    left = training_choices.rate_shares(found, *given).left
    page.question(
        "At the last step you find that twice as many steps are needed. Under which schedules can training just go on?",
        f"Where the line has not come to 0: the inverse square root still has {left} there, the constant all of it. "
        "The cosine ends at 0, so it has to begin again at a higher rate.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.schedule, made(choices.rates, *given), spec),
        code=(rate, warmup_cosine, warmup_inverse_sqrt),
    )


def optimisers(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """How far one step moves each matrix."""
    found = updates(spec)
    picture(
        experiments.optimisers(found, spec),
        "updates",
        lambda: pd.DataFrame(
            [(one.kind, *row) for one in found for row in zip(one.tensors, one.gradient, one.update, strict=True)],
            columns=["optimiser", "tensor", "gradient", "update"],
        ),
        "Size of the step against size of the gradient, tensor by tensor. ",
    )
    page.what_to_see(
        "SGD without momentum and weight decay lies on a rising line: a matrix with a small gradient hardly moves. "
        "Adam divides each gradient by its own usual size, so all matrices move by a similar part of the learning rate "
        "(not by all of it: gradients that change their sign partly cancel out in the mean): that is why one rate "
        "suits them all, and why a rate for SGD must be ten to a hundred times higher. Momentum adds a share of all "
        "earlier steps to each step, so SGD's points move up. AdamW differs from Adam in what weight decay does "
        "(arXiv:1412.6980, algorithm 1; arXiv:1711.05101, algorithm 2): with decay 0 their points coincide."
    )
    spreads = training_choices.update_spreads(found, choices.WARM, spec.lr)
    page.question(
        "One rate has to do for all matrices. Under which optimiser do those with small gradients fall behind?",
        "Under SGD, whose step is proportional to the gradient (without momentum and weight decay): here the matrix "
        f"moved most moves {spreads.sgd} as far as the one moved least. Under Adam: {spreads.adam}.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.optimisers, made(choices.updates, spec), spec),
        code=(choices.updates, optimiser, adamw),
    )


def decay(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """The norm of the weights that decay, and of all others."""
    found = norms(spec)
    picture(
        experiments.decay(found, spec),
        "decay",
        lambda: pd.DataFrame(
            {"step": np.arange(choices.DECAYING + 1)}
            | {
                f"{one.kind}, {which}": values
                for one in found
                for which, values in (("matrices", one.decayed), ("the rest", one.rest))
            }
        ),
        "Norm of the weights, step by step. ",
    )
    page.what_to_see(
        "Solid are the matrices, which decay; dashed all others, which do not: the tables of embeddings, the scales of "
        "norms, the biases. AdamW takes a share lr · decay off each weight beside the step, which is little in a few "
        "steps. With the decay in the gradient (L2), Adam divides it by the gradient's usual size: where gradients are "
        "small the decay is most of the step, and the matrices shrink fast (arXiv:1711.05101, section 2)."
    )
    amount = spec.weight_decay or choices.DECAY
    kept = training_choices.norms_kept(found, spec.lr, amount, own=bool(spec.weight_decay))
    page.question(
        f"Adam with weight decay {amount} in the gradient and AdamW with {amount}: which shrinks the matrices more "
        "here, and why?",
        f"{kept.comparison} Adam divides the decay by the gradient's usual size too; AdamW takes the same share off "
        f"all weights, lr · {amount} in every step.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.decay, made(choices.norms, spec), spec),
        code=(choices.norms, optimiser, decay_groups, adamw),
    )


def clipping(_: LabSpec, seen: Seen | None, __: list[str]) -> None:
    """The gradients of the run, before and after."""
    if seen is None or seen.curves is None or not len(seen.curves.step):
        st.info("There is no step of a run yet: start one, or choose another picture.")
        return
    curves, spec = seen.curves, seen.spec
    picture(
        experiments.clipping(curves, spec),
        "clipping",
        lambda: pd.DataFrame(
            {
                "step": curves.step,
                "before": curves.norm,
                "after": np.minimum(curves.norm, spec.clip) if spec.clip else curves.norm,
            }
        ),
        "Gradient norm of every step. ",
    )
    page.what_to_see(
        "Clipping keeps the direction of a gradient and shortens it to the bound: g · min(1, c / |g|) "
        "(arXiv:1211.5063, section 3.2). It acts where the loss is steep, so that a single batch could throw the "
        "weights far away. Under Adam, which divides by the size anyway, it matters less than under SGD."
    )
    other = training_choices.other_bound(curves, spec.clip)
    page.question(f"How many steps would a bound of {other.name} cut?", str(other))
    page.how_it_is_computed(
        page.experiment(experiments.clipping, made(experiments.curves_of, spec), spec), code=(one_step,)
    )


def labels(spec: LabSpec, _: Seen | None, __: list[str]) -> None:
    """The loss with smoothed targets."""
    given = spec.smoothing, len(token_names(spec))
    found = smoothing(*given)
    picture(
        experiments.labels(*given),
        "smoothing",
        lambda: pd.DataFrame({"probability": found.probability, "plain": found.plain, "smoothed": found.loss}),
        "Loss against the probability of the right token. ",
    )
    page.what_to_see(
        "Without smoothing the loss pulls the right token towards probability 1 for ever. With it, being too sure "
        "costs: the lowest point lies before 1, and it is not 0. That is why the loss of the batches stays above the "
        "held-out loss, which is measured plainly (arXiv:1512.00567, section 7; 0.1 in arXiv:1706.03762, section 5.4)."
    )
    page.question(
        "A model gives the right token probability 0.999. Would it be better to be a little less sure?",
        f"{training_choices.smoothed_target(found).lowest} "
        + (
            "Beyond it, what goes up is the price of the others, which get next to nothing: yes."
            if spec.smoothing
            else "Without smoothing more is always better: no. Set it to 0.1 and look again."
        ),
    )
    page.how_it_is_computed(page.experiment(experiments.labels, *given), code=(smoothing, smoothing_target))


def dropout(spec: LabSpec, seen: Seen | None, mine: list[str]) -> None:
    """Trained on against held out, for the run and for those of the same task beside it."""
    kept = [run for run in (runs.RUNS.look(name) for name in mine) if run is not None]
    kept = [run for run in kept if seen is None or run.name != seen.name] + ([seen] if seen is not None else [])
    task = seen.spec.task if seen is not None else spec.task
    chosen = [(run.spec, run.curves) for run in kept if run.spec.task == task and run.curves is not None][-COMPARED:]
    if not chosen:
        st.info("There is no run of this task yet: start one, or choose another picture.")
        return
    specs: list[LabSpec] = [one for one, _ in chosen]
    curves: list[Curves] = [one for _, one in chosen]
    named = experiments.by_dropout(curves, specs)
    picture(
        experiments.dropout(curves, specs),
        "gap",
        lambda: pd.concat([curve_table(one).assign(run=name) for name, one in named]),
        "Loss on rows trained on and held out. ",
        " Both measured without dropout.",
    )
    page.what_to_see(
        "The gap between the dashed and the solid line is overfitting: what was memorised. Dropout zeroes a random "
        "part of every layer's output in each step (arXiv:1207.0580), so that nothing can rely on a single detail: "
        "both lines usually fall more slowly, and part later. On tasks whose rows are always new there is no gap to "
        "close, and dropout only slows. Try it on the characters of a text: train once with 0 and once with 0.2."
    )
    page.question(
        "Which run overfits most, and which does best on held-out data?",
        f"{training_choices.overfit_gaps(named).comparison} A gap alone is no fault.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.dropout, made(experiments.curves_of_each, specs), specs), code=(one_step,)
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
    chosen = controls.segmented("What changes with the", "choice", list(PICTURES), "schedule", names, named=False)
    if isinstance(spec, str):
        st.info("These settings cannot be trained, so there is nothing to show: the reason stands beside them.")
    else:
        PICTURES[chosen][1](spec, seen, mine)
