"""The lab: what is seen of a run while it trains: curves, attention, an answer."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.lab import experiments as experiments
from pages.training.lab import run as _lab_run
from pages.ui import cache, page, text
from pages.ui.components.figure import figure
from pages.ui.work import live, runs
from pages.ui.work.run_records import Seen
from tfcore.analysis.training.training_run import Curves, Look, free_running, look
from tfcore.figures.training import lab as figures
from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import one_step, train_slice

Moment = tuple[str, int]  # a run and its step: what its pictures show
EVERY = 0.5  # seconds between two looks
LEARNED = 0.95  # accuracy from which on a task counts as learned


@cache.data(max_entries=64)
def token_names(spec: LabSpec) -> tuple[str, ...]:
    return task(spec).names


def watch(seen: Seen | None, now: LabSpec | str) -> None:
    """How far it is and the pictures, again and again while the run goes on."""
    active = seen is not None and seen.moving
    name = seen.name if seen is not None else ""
    live.follow(lambda: runs.RUNS.look(name), lambda found: _draw(found, now), active, EVERY)


def _draw(seen: Seen | None, now: LabSpec | str) -> None:
    _lab_run.state(seen, now)
    if seen is None or seen.look is None or seen.curves is None:
        st.info(
            "The first look at the model comes when its worker has started; where there is much to do, other work "
            "goes first."
        )
        return
    show(seen, seen.curves, seen.look)


def show(seen: Seen, curves: Curves, now: Look) -> None:
    """Curves, the finding, maps, the answer."""
    labels = text.tick_labels(token_names(seen.spec), 4)
    same = (seen.name, seen.step)
    course(seen, curves, same)
    st.markdown(f"**Found.** {finding(seen.spec, curves)}")
    maps(now, labels, same)
    answer(now, labels, same)
    by_place(now, same)
    dials(seen.spec, curves, same)


def course(seen: Seen, curves: Curves, same: Moment) -> None:
    """Loss and accuracy."""
    chance = math.log(len(token_names(seen.spec)))
    said = (
        f"step {int(curves.at[-1]):,}: held-out loss {curves.held_loss[-1]:.3f} nats and accuracy "
        f"{curves.held_accuracy[-1]:.0%}, on rows trained on {curves.train_loss[-1]:.3f} and "
        f"{curves.train_accuracy[-1]:.0%}"
    )
    figure(
        lambda: figures.curves_figure(curves, seen.spec.steps, chance, 360),
        key="curves",
        height=360,
        min_width=320,
        alt=f"Loss and accuracy over {seen.step:,} steps; {said}; a uniform guess costs {chance:.2f} nats.",
        caption=f"{said[0].upper()}{said[1:]}. A uniform guess costs ln {len(token_names(seen.spec))} = {chance:.2f}.",
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


def first_at(curves: Curves, values: np.ndarray) -> int | None:
    """The first check from which on it counts as learned."""
    found = np.flatnonzero(values >= LEARNED)
    return int(curves.at[found[0]]) if len(found) else None


def finding(spec: LabSpec, curves: Curves) -> str:
    """What the curves say, in a sentence."""
    known, general = first_at(curves, curves.train_accuracy), first_at(curves, curves.held_accuracy)
    now = f"now {curves.held_accuracy[-1]:.0%} of held-out tokens are right"
    if spec.task == "characters":
        best = int(np.nanargmin(curves.held_loss))
        rises = curves.held_loss[-1] > curves.held_loss[best] + 0.05
        later = (
            f" Since then it has risen to {curves.held_loss[-1]:.2f}, while the loss on what it trains on fell to "
            f"{curves.train_loss[-1]:.2f}: it memorises the text."
            if rises
            else ""
        )
        return (
            f"The held-out loss was lowest at step {int(curves.at[best]):,}, {curves.held_loss[best]:.2f} nats.{later}"
        )
    if general is not None and known is not None and general > known + max(50, known // 2):
        return (
            f"It reached {LEARNED:.0%} on training data at step {known:,} and on held-out data only at step "
            f"{general:,}: it memorised, then generalised (grokking)."
        )
    if general is not None:
        return f"Learned: {LEARNED:.0%} of held-out tokens right at step {general:,}; {now}."
    if known is not None:
        return f"Memorised at step {known:,}, not yet generalised: {now}."
    return f"Not learned yet: {now}."


def maps(now: Look, labels: list[str], same: Moment) -> None:
    """Every head on the example."""
    layers, heads = now.patterns.shape[:2]
    n = now.patterns.shape[-1]
    row = " ".join(labels[int(i)] for i in now.ids[: now.start])
    height, every = min(760, layers * (190 if heads > 2 else 260)), figures.tokens_a_cell(now)
    cells = f"; each cell is the largest weight of {every} x {every} tokens" if every > 1 else ""
    figure(
        lambda: figures.maps_figure(now, height),
        key="maps",
        height=height,
        min_width=320,
        same=same,
        alt=f"Attention of {layers * heads} heads at step {now.step:,}, on a held-out row of {n} tokens.",
        caption=f"Where every head looks at step {now.step:,}, shape (layer, head, query, key) = "
        f"({layers}, {heads}, {n}, {n}), on the held-out row that begins: {row[:120]}{cells}",
        table=lambda: pd.DataFrame(now.patterns.reshape(-1, n)),
    )


def answer(now: Look, labels: list[str], same: Moment) -> None:
    """The end of that row, under teacher forcing and free running."""
    forced, free = (int((ids == now.wanted).sum()) for ids in (now.forced, now.free))
    n = len(now.wanted)
    said = f"of {n} tokens {forced} are right with teacher forcing and {free} free-running"
    figure(
        lambda: figures.answer_figure(now, labels, 170),
        key="answer",
        height=170,
        min_width=min(560, 150 + 26 * n),
        alt=f"The model's answer at step {now.step:,}: {said}.",
        caption=f"The end of that row: {said}. Teacher forcing: every earlier token is the true one. Free-running: "
        "the model reads its own output, so one mistake may spoil the rest.",
        table=lambda: answer_table(now, labels),
        same=same,
    )


def answer_table(now: Look, labels: list[str]) -> pd.DataFrame:
    """The three rows of tokens, and how sure the model was of the right one."""
    rows = {"right": now.wanted, "teacher forcing": now.forced, "free-running": now.free}
    said = {name: [labels[int(i)] for i in ids] for name, ids in rows.items()}
    return pd.DataFrame({**said, "probability of the right one": now.sure})


def by_place(now: Look, same: Moment) -> None:
    """Right tokens by place, over all probed rows."""
    forced, free = float(now.by_place_forced.mean()), float(now.by_place_free.mean())
    figure(
        lambda: figures.places_figure(now, 230),
        key="places",
        height=230,
        min_width=280,
        same=same,
        alt=f"Share of right tokens by place: {forced:.0%} with teacher forcing, {free:.0%} free-running.",
        caption=f"16 held-out rows: {forced:.0%} right with teacher forcing, {free:.0%} free-running.",
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
    norm, rate = (float(v[-1]) if len(v) else 0.0 for v in (curves.norm, curves.lr))
    clipped = float((curves.norm > spec.clip).mean()) if spec.clip and len(curves.norm) else 0.0
    figure(
        lambda: figures.dials_figure(curves, spec.steps, spec.clip, 230),
        key="dials",
        height=230,
        min_width=280,
        alt=f"Norm of the gradient, now {norm:.2f}, and learning rate, now {rate:.1e}.",
        caption=f"Gradient norm {norm:.2f}, clipped in {clipped:.0%} of the steps; learning rate {rate:.1e}.",
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
    page.source(train_slice, one_step, look, free_running)
    if isinstance(spec, LabSpec):
        page.experiment(experiments.training, spec)
    st.caption(
        "Teacher forcing and free-running generation: arXiv:1506.03099, section 2. Copying as a test of sequence "
        "models: arXiv:1410.5401; reversing: arXiv:1506.02516."
    )
    page.question(
        "Under teacher forcing nine tokens of ten are right. Of twenty tokens generated free-running, how many "
        "would you expect to be right up to the first mistake?",
        "If mistakes are independent, 0.9 + 0.9² + ... + 0.9²⁰, about 8: the row is right from end to end with "
        "0.9²⁰ = 12 %. That is why the free-running curve falls with the position, and why the last few per cent of "
        "accuracy matter so much in generation.",
    )
