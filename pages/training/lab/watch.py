"""The lab: what is seen of a run while it trains: curves, attention, an answer."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.lab import experiments
from pages.training.lab import run as _lab_run
from pages.ui import cache, head_links, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import live, runs
from pages.ui.work.run_records import Seen
from tfcore.analysis.training import training_runs
from tfcore.figures.training.training_runs import tokens_a_cell
from tfcore.training.lab.curves import Curves, Look, free_running, look
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import PROBED_ROWS, one_step, train_slice

Moment = tuple[str, int]  # a run and its step: what its pictures show
EVERY = 0.5  # seconds between two looks


@cache.data(max_entries=64)
def token_names(spec: LabSpec) -> tuple[str, ...]:
    return task(spec).names


def watch(seen: Seen | None, now: LabSpec | str) -> None:
    """How far it is and the pictures, again and again while the run goes on."""
    active = seen is not None and seen.moving
    name = seen.name if seen is not None else ""
    live.follow(lambda: runs.RUNS.look(name), lambda found: _draw(found, now), active, EVERY)


def _draw(seen: Seen | None, now: LabSpec | str) -> None:
    _lab_run.state(seen)
    if seen is None or seen.look is None or seen.curves is None:
        st.info(
            "The first look at the model comes when its worker has started; where there is much to do, other work "
            "goes first."
        )
        st.caption(_lab_run.whose(seen, now))
        return
    course(seen, seen.curves, (seen.name, seen.step))
    st.caption(_lab_run.whose(seen, now))
    show(seen, seen.curves, seen.look)


def show(seen: Seen, curves: Curves, now: Look) -> None:
    """The finding, maps, the answer."""
    names, same = token_names(seen.spec), (seen.name, seen.step)
    st.markdown(f"**Found.** {training_runs.stage(curves, seen.spec.task)}")
    maps(now, text.tick_labels(names, 4), same)
    answer(now, names, same)
    by_place(now, same)
    dials(seen.spec, curves, same)


def course(seen: Seen, curves: Curves, same: Moment) -> None:
    """Loss and accuracy."""
    checked = training_runs.last_check(curves, len(token_names(seen.spec)))
    figure(
        lambda: experiments.training(curves, seen.spec).figure,
        key="curves",
        height=360,
        min_width=320,
        alt=f"Loss and accuracy over the steps. {checked}",
        caption=str(checked),
        table=lambda: curve_table(curves),
        same=same,
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


def maps(now: Look, labels: list[str], same: Moment) -> None:
    """Every head on the example."""
    layers, heads, n, _ = now.patterns.shape
    row = " ".join(labels[int(i)] for i in now.ids[: now.start])
    height, every = min(760, layers * (190 if heads > 2 else 260)), tokens_a_cell(now)
    cells = f"; each cell is the largest weight of {every} x {every} tokens" if every > 1 else ""
    found = training_runs.head_maps(now)
    figure(
        lambda: experiments.maps(now, height).figure,
        key="maps",
        height=height,
        min_width=320,
        same=same,
        alt=str(found),
        caption=f"{found} Shape (layer, head, query, key) = {now.patterns.shape}; the row begins: {row[:120]}{cells}. "
        f"{head_links.IN_TRAINING}",
        table=lambda: pd.DataFrame(now.patterns.reshape(-1, n)),
    )


def answer(now: Look, names: tuple[str, ...], same: Moment) -> None:
    """The end of that row, under teacher forcing and free-running."""
    found = training_runs.right_tokens(now)
    figure(
        lambda: experiments.answer(now, names).figure,
        key="answer",
        height=170,
        min_width=min(560, 150 + 26 * found.tokens),
        alt=f"The model's answer. {found}",
        caption=f"The end of that row. {found} Teacher forcing: every earlier token is the true one. Free-running: the "
        "model reads its own output, so one mistake may spoil the rest.",
        table=lambda: answer_table(now, text.tick_labels(names, 4)),
        same=same,
    )


def answer_table(now: Look, labels: list[str]) -> pd.DataFrame:
    """The three rows of tokens, and how sure the model was of the right one."""
    rows = {"right": now.wanted, "teacher forcing": now.forced, "free-running": now.free}
    tokens = {name: [labels[int(i)] for i in ids] for name, ids in rows.items()}
    return pd.DataFrame({**tokens, "probability of the right one": now.sure})


def by_place(now: Look, same: Moment) -> None:
    """Right tokens by place, over all probed rows."""
    found = training_runs.right_shares(now)
    figure(
        lambda: experiments.places(now).figure,
        key="places",
        height=230,
        min_width=280,
        same=same,
        alt=f"Share of right tokens by place: {found}",
        caption=f"{PROBED_ROWS} held-out rows: {found}",
        table=lambda: pd.DataFrame(
            {
                "place": np.arange(1, len(now.wanted) + 1),
                "teacher forcing": now.by_place_forced,
                "free-running": now.by_place_free,
            }
        ),
    )


def dials(spec: LabSpec, curves: Curves, same: Moment) -> None:
    """Gradient norm and learning rate."""
    found = training_runs.gradient_state(curves, spec.clip)
    figure(
        lambda: experiments.dials(curves, spec).figure,
        key="dials",
        height=230,
        min_width=280,
        alt=f"Norm of the gradient and learning rate of every step. Now: {found}",
        caption=str(found),
        table=lambda: pd.DataFrame({"step": curves.step, "norm": curves.norm, "rate": curves.lr}),
        same=same,
    )


def words(spec: LabSpec | str) -> None:
    """What to see, sources, the question."""
    page.what_to_see(
        "On many tasks the loss has a plateau and then drops within few steps, while stripes form in the attention "
        "patterns. Where training and held-out loss part, the model memorises. Free-running (autoregressive) "
        "generation is as good as teacher forcing up to its first mistake, and mostly worse after it, since it reads "
        "its own mistakes (exposure bias)."
    )
    programs = []
    if isinstance(spec, LabSpec):
        programs.append(page.experiment(experiments.training, made(experiments.curves_of, spec), spec))
    page.question(
        "Under teacher forcing nine tokens of ten are right. Of twenty tokens generated free-running, how many "
        "would you expect to be right up to the first mistake?",
        "If mistakes are independent, 0.9 + 0.9² + ... + 0.9²⁰, about 8: the row is right from end to end with "
        "0.9²⁰ = 12 %. That is why the free-running curve falls with the position, and why the last few per cent of "
        "accuracy matter so much in generation.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\theta_{t+1} = \theta_t - \eta_t \, u\!\left(\nabla_\theta \, \tfrac{1}{|B|}\sum_{i \in B} "
            r"-\log p_\theta(x_i \mid x_{<i})\right)"
        ),
        code=(train_slice, one_step, look, free_running),
        papers=(
            "In the formula η is the learning rate of the schedule, u the update that the optimiser makes of the "
            "gradient: with SGD the gradient plus momentum, with Adam m / (√v + ε) (arXiv:1412.6980, algorithm 1), to "
            "which AdamW adds the decay (arXiv:1711.05101, algorithm 2). Teacher forcing and free-running generation: "
            "arXiv:1506.03099, section 2. Copying as a test of sequence models: arXiv:1410.5401; reversing: "
            "arXiv:1506.02516."
        ),
    )
