"""Train a model here and now: a task, a model, an optimiser; its curves, its attention and its answers as it learns."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.training.lab import run
from pages.training.lab.facts import FACTS
from pages.training.lab.settings import NAMES, choose, values
from pages.ui import cache, controls, head_links, page
from pages.ui.frame import Panel, panel
from pages.ui.work import live, runs
from pages.ui.work.run_records import Seen
from tfcore.training.lab import setting_words
from tfcore.training.lab.curves import Curves, Evaluation
from tfcore.training.lab.option_effects import DECAY, WARM
from tfcore.training.lab.recipes import recipe
from tfcore.training.lab.spec import LabSpec
from tfcore.views.training import lab as views
from tfcore.views.training.lab.say import option_effects as say
from tfcore.views.view import View

EVERY = 0.5  # seconds between two looks at a run
COMPARED = 3  # runs that differ in dropout, the last ones
MEASURES: dict[views.By, str] = {"accuracy": "accuracy", "loss": "loss"}


# ---- the training ----


def training(now: LabSpec | str, seen: Seen | None) -> None:
    """How far a run is and its pictures, again and again while it goes on."""
    name = seen.name if seen is not None else ""
    waiting = seen is None or seen.look is None
    stored = views.stored_runs().get(now) if isinstance(now, LabSpec) else None

    def draw(seen: Seen | None) -> None:
        run.state(seen)
        if seen is not None and seen.look is not None and seen.curves is not None:
            if waiting:
                st.rerun()  # the whole page: there is something to say now
            show(seen.name, seen.step, seen.spec, seen.curves, seen.look, run.whose(seen, now))
        elif stored is not None and isinstance(now, LabSpec):
            show("stored", now.steps, now, *stored, run.STORED)
        else:
            st.info(
                "The first look at the model comes when its worker has started; where there is much to do, other work "
                "goes first."
            )
            st.caption(run.whose(seen, now))

    def show(name: str, step: int, spec: LabSpec, curves: Curves, look: Evaluation, whose: str) -> None:
        course, maps, *others = pictures(name, step, spec, curves, look)
        same = name, step
        if stored is not None and name != "stored" and spec == now:
            course = course.over(views.course(spec, so_far=stored[0]), live.FAINT)
        p.show(course, same=same)
        st.caption(whose)
        p.show(maps, hint=head_links.IN_TRAINING, same=same)
        for view in others:
            p.show(view, same=same)

    with panel(None) as p:
        with p.picture:
            live.follow(lambda: runs.RUNS.look(name), draw, seen is not None and seen.moving, EVERY)
            if seen is not None:
                run.keep(seen)
        p.what_to_see(
            "On many tasks the loss has a plateau and then drops within few steps, while stripes form in the attention "
            "patterns. Where training and held-out loss part, the model memorises. Free-running (autoregressive) "
            "generation is as good as teacher forcing up to its first mistake, and mostly worse after it, since it "
            "reads its own mistakes (exposure bias)."
        )
        p.question(
            "Under teacher forcing nine tokens of ten are right. Of twenty tokens generated free-running, how many "
            "would you expect to be right up to the first mistake?",
            "If mistakes are independent, 0.9 + 0.9² + ... + 0.9²⁰, about 8: the row is right from end to end with "
            "0.9²⁰ = 12 %. That is why the free-running curve falls with the position, and why the last few per cent "
            "of accuracy matter so much in generation.",
        )


@cache.shared(max_entries=16)
def pictures(run_name: str, step: int, _spec: LabSpec, _curves: Curves, _look: Evaluation) -> list[View]:  # noqa: ARG001
    """The pictures of a run at a step, made once for all who look at it."""
    return [
        views.course(_spec, so_far=_curves),
        views.maps(_spec, so_far=_look),
        views.answer(_spec, so_far=_look),
        views.places(_spec, so_far=_look),
        views.dials(_spec, so_far=_curves),
    ]


# ---- hyperparameters ----


def schedule(p: Panel, spec: LabSpec, _: Seen | None) -> None:
    """Three schedules with the same warm-up and peak."""
    shown = views.schedule(spec)
    p.show(shown)
    p.what_to_see(
        "Warm-up: Adam's first steps divide by an estimate made of one or two gradients, so they are kept small. The "
        "cosine must know when training ends; the inverse square root need not, and can go on for ever "
        "(arXiv:1608.03983, eq. 5; arXiv:1706.03762, eq. 3)."
    )
    left = say.rate_shares(shown.result, spec.steps, spec.warmup, spec.lr).left
    p.question(
        "At the last step you find that twice as many steps are needed. Under which schedules can training just go on?",
        f"Where the line has not come to 0: the inverse square root still has {left} there, the constant all of it. "
        "The cosine ends at 0, so it has to begin again at a higher rate.",
    )


def optimisers(p: Panel, spec: LabSpec, _: Seen | None) -> None:
    """How far one step moves each matrix."""
    shown = views.optimisers(spec)
    p.show(shown)
    p.what_to_see(
        "SGD without momentum and weight decay lies on a rising line: a matrix with a small gradient hardly moves. "
        "Adam divides each gradient by its own usual size, so all matrices move by a similar part of the learning rate "
        "(not by all of it: gradients that change their sign partly cancel out in the mean): that is why one rate "
        "suits them all, and why a rate for SGD must be ten to a hundred times higher. Momentum adds a share of all "
        "earlier steps to each step, so SGD's points move up. AdamW differs from Adam in what weight decay does "
        "(arXiv:1412.6980, algorithm 1; arXiv:1711.05101, algorithm 2): with decay 0 their points coincide. Muon makes "
        "the momentum of each matrix of a block nearly orthogonal: all its singular values come near 1, whatever they "
        "were, and a factor of 0.2 √(longer side) brings the step to the size of AdamW's (arXiv:2502.16982, eq. 4). "
        "The unembedding is left to AdamW, with its own point."
    )
    spreads = say.update_spreads(shown.result, WARM, spec.lr)
    p.question(
        "One rate has to do for all matrices. Under which optimiser do those with small gradients fall behind?",
        "Under SGD, whose step is proportional to the gradient (without momentum and weight decay): here the matrix "
        f"moved most moves {spreads.sgd} as far as the one moved least. Under Adam: {spreads.adam}.",
    )


def decay(p: Panel, spec: LabSpec, _: Seen | None) -> None:
    """The norm of the weights that decay, and of all others."""
    shown = views.decay(spec)
    p.show(shown)
    p.what_to_see(
        "Solid are the matrices, which decay; dashed all others, which do not: the tables of embeddings, the scales of "
        "norms, the biases. AdamW takes a share lr · decay off each weight beside the step, which is little in a few "
        "steps. With the decay in the gradient (L2), Adam divides it by the gradient's usual size: where gradients are "
        "small the decay is most of the step, and the matrices shrink fast (arXiv:1711.05101, section 2)."
    )
    amount = spec.weight_decay or DECAY
    left = say.norms_kept(shown.result, spec.lr, amount, own=bool(spec.weight_decay))
    p.question(
        f"Adam with weight decay {amount} in the gradient and AdamW with {amount}: which shrinks the matrices more "
        "here, and why?",
        f"{left.comparison} Adam divides the decay by the gradient's usual size too; AdamW takes the same share off "
        f"all weights, lr · {amount} in every step.",
    )


def clipping(p: Panel, _: LabSpec, seen: Seen | None) -> None:
    """The gradients of the run, before and after."""
    if seen is None or seen.curves is None or not len(seen.curves.step):
        st.info("There is no step of a run yet: start one, or choose another picture.")
        return
    p.show(views.clipping(seen.spec, so_far=seen.curves))
    p.what_to_see(
        "Clipping keeps the direction of a gradient and shortens it to the bound: g · min(1, c / |g|) "
        "(arXiv:1211.5063, section 3.2). It acts where the loss is steep, so that a single batch could throw the "
        "weights far away. Under Adam, which divides by the size anyway, it matters less than under SGD."
    )
    other = say.other_bound(seen.curves, seen.spec.clip)
    p.question(f"How many steps would a bound of {other.name} cut?", str(other))


def label_smoothing(p: Panel, spec: LabSpec, _: Seen | None) -> None:
    """The loss with smoothed targets."""
    shown = views.label_smoothing(spec)
    p.show(shown)
    p.what_to_see(
        "Without smoothing the loss pulls the right token towards probability 1 for ever. With it, being too sure "
        "costs: the lowest point lies before 1, and it is not 0. That is why the loss of the batches stays above the "
        "held-out loss, which is measured plainly (arXiv:1512.00567, section 7; 0.1 in arXiv:1706.03762, section 5.4)."
    )
    p.question(
        "A model gives the right token probability 0.999. Would it be better to be a little less sure?",
        f"{say.lowest_point(shown.result)} "
        + (
            "Beyond it, what goes up is the price of the others, which get next to nothing: yes."
            if spec.smoothing
            else "Without smoothing more is always better: no. Set it to 0.1 and look again."
        ),
    )


def dropout(p: Panel, spec: LabSpec, seen: Seen | None) -> None:
    """Trained on against held out, for the run and for those of the same task beside it."""
    kept = [one for one in (runs.RUNS.look(name) for name in run.mine()) if one is not None]
    kept = [one for one in kept if seen is None or one.name != seen.name] + ([seen] if seen is not None else [])
    task = seen.spec.task if seen is not None else spec.task
    chosen = [(one.spec, one.curves) for one in kept if one.spec.task == task and one.curves is not None][-COMPARED:]
    if not chosen:
        st.info("There is no run of this task yet: start one, or choose another picture.")
        return
    shown = views.dropout([of for of, _ in chosen], so_far=[curves for _, curves in chosen])
    p.show(shown)
    p.what_to_see(
        "The gap between the dashed and the solid line is overfitting: what was memorised. Dropout zeroes a random "
        "part of every layer's output in each step (arXiv:1207.0580), so that nothing can rely on a single detail: "
        "both lines usually fall more slowly, and part later. On tasks whose rows are always new there is no gap to "
        "close, and dropout only slows. Try it on the characters of a text: train once with 0 and once with 0.2."
    )
    p.question(
        "Which run overfits most, and which does best on held-out data?",
        f"{say.overfit_gaps(shown.result).comparison} A gap alone is no fault.",
    )


CHOICES: dict[str, tuple[str, Callable[[Panel, LabSpec, Seen | None], None]]] = {
    "schedule": ("schedule", schedule),
    "optimiser": ("optimiser", optimisers),
    "decay": ("weight decay", decay),
    "clipping": ("clipping", clipping),
    "smoothing": ("label smoothing", label_smoothing),
    "dropout": ("dropout", dropout),
}


def changes(now: LabSpec | str, seen: Seen | None) -> None:
    """Each choice in training with a small live picture of what it changes."""
    names = {key: name for key, (name, _) in CHOICES.items()}
    chosen = controls.segmented("What changes with the", "choice", list(CHOICES), "schedule", names, named=False)
    if isinstance(now, str):
        st.info("These settings cannot be trained, so there is nothing to show: the reason stands beside them.")
        return
    with panel(None) as p, p.picture:
        CHOICES[chosen][1](p, now, seen)


# ---- runs compared ----


def compare(_: LabSpec | str, seen: Seen | None) -> None:
    """Curves over each other, and a table of what differs."""
    others = [
        one for one in (runs.RUNS.look(name) for name in run.mine()) if one is not None and one.curves is not None
    ]
    if seen is not None and seen.curves is not None and all(one.name != seen.name for one in others):
        others.append(seen)
    if not others:
        st.info("There is no run yet: start one.")
        return
    with panel(None) as p:
        with p.controls:
            by = controls.segmented("Compared by held-out", "by", list(MEASURES), "accuracy", MEASURES)
        with p.picture:
            p.show(views.compare([one.spec for one in others], by, so_far=[one.curves for one in others if one.curves]))
            st.dataframe(table(others), hide_index=True)
        p.what_to_see(
            "Change one thing, press Start, and come back: both runs are here, as long as the server keeps them (the "
            "link names them). One seed is no evidence: before you believe in a difference, train both again with "
            "another seed."
        )
        p.question(
            "Two runs differ in the learning rate alone, and the faster one is ahead at step 100. Is its rate the "
            "better one?",
            "Not yet known. The slower one may catch up later, above all where the schedule lowers both rates, and "
            "with another seed the order may change. Compare where both end, and for several seeds.",
        )


def table(runs_seen: list[Seen]) -> pd.DataFrame:
    """The runs as the server has them, and the settings in which they differ."""
    differ, rows = setting_words.differing([one.spec for one in runs_seen]), []
    for i, one in enumerate(runs_seen):
        assert one.curves is not None
        fields = {setting_words.LABELS[key]: str(value) for key, value in one.spec.to_dict().items() if key in differ}
        rows.append(
            {
                "run": i + 1,
                "task": NAMES[one.spec.task],
                "step": one.step,
                "state": one.state,
                "held-out accuracy": float(one.curves.held_accuracy[-1]),
                "best held-out loss": float(one.curves.held_loss.min()),
                "seconds": round(one.seconds, 1),
                **fields,
            }
        )
    return pd.DataFrame(rows)


# ---- the page ----


def asked(spec: LabSpec) -> dict[str, Any]:
    """The values that an example sets: every control, and that the training begins."""
    return {**values(spec), "show": "train", run.BEGIN: True}


TRY = {
    "induction": asked(recipe("induction")),
    "one layer: cannot": asked(replace(recipe("induction"), n_layers=1)),
    "copy": asked(recipe("copy")),
    "reverse": asked(recipe("reverse")),
    "sort": asked(recipe("sort")),
    "a text": asked(recipe("characters")),
    "with dropout": asked(replace(recipe("characters"), dropout=0.2)),
    "grokking (a minute)": asked(recipe("addition")),
    "too high a learning rate": asked(replace(recipe("copy"), lr=0.1)),
}
SECTIONS = {"train": training, "changes": changes, "compare": compare}

page.begin(FACTS)
page.try_this(TRY)
top = st.container(horizontal=True, horizontal_alignment="distribute")
with top:
    section = controls.sections(FACTS.sections)
left, right = st.columns([1, 2], gap="large")
with left:
    chosen = choose()
present = run.present(chosen, may_wait=section != "train")
if section == "train":
    with top:
        run.bar(present, chosen)
with right:
    if run.is_closed():
        st.info("Nothing is trained on this server: whoever runs it has closed the lab (TFCORE_RUNS=0).")
    SECTIONS[section](chosen, present)
