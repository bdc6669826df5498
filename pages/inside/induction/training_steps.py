"""The page on induction: the phase change in the training of a shipped model, frame by frame."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.induction import experiments as experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from tfcore.analysis.inside import growth
from tfcore.analysis.inside.growth import Moment
from tfcore.figures.inside import growth as figures
from tfcore.training import growing

VOCAB = 256
TRY: dict[str, dict[str, Any]] = {
    "untrained": {"frame": 0},
    "before the phase change": {"frame": 8},
    "in the middle of it": {"frame": 12},
    "after it": {"frame": 16},
    "at the end": {"frame": 26},
}


@cache.data(max_entries=64)
def frame_of(frame: int) -> Moment:
    return growing.film_moment(frame)


def whole_film() -> list[Moment]:
    """Every frame, with progress where they are not measured yet."""
    steps, place = growing.film_steps(), st.empty()
    found = []
    for i, step in enumerate(steps):
        found.append(frame_of(i))
        if i % 4 == 3:
            place.progress(i / len(steps), f"Measuring frame {i + 1} of {len(steps)}, step {step}")
    place.empty()
    return found


def film() -> None:
    """The section."""
    st.markdown(
        f"Checkpoints of `induction`, two layers of attention, from {len(growing.film_steps())} steps of its training. "
        "Each is loaded into the model and measured."
    )
    moments = whole_film()
    last = len(moments) - 1
    left, right = st.columns([2, 3], gap="large")
    with left:
        at = controls.slider("Frame", "frame", 0, last, 12)
        player("frame", 0, last, at, label="Play the training", period=0.35)
        now = moments[at]
        numbers(now, VOCAB)
    with right:
        course(moments, at, moments[-1].step, VOCAB, log=True)
    below, every = st.columns([2, 3], gap="large")
    with below:
        along(now, moments[0], VOCAB)
    with every:
        maps(now)
    page.try_this(TRY)
    found = growth.formation(moments)
    page.what_to_see(
        f"At first the loss stays near that of a uniform guess, ln {VOCAB} = {math.log(VOCAB):.2f} nats. "
        f"{growth.formed(found) if found else ''} The two kinds of heads form together, because neither lowers the "
        "loss without the other."
    )
    page.source(growth.moment, growth.in_context_score, growth.formation, growing.film_moment)
    page.experiment(experiments.film, at)
    st.caption(
        "In-context learning score and the phase change: arXiv:2209.11895, argument 1; there the 500th token against "
        "the 50th, here the 120th against the 12th. The recipe of the shipped model: "
        "tfcore/training/recipes/induction.py"
    )
    page.question(
        "Early in its training, the loss of a large model drops faster for a short while, though no setting was "
        "changed. What might have happened, and what would you measure?",
        "Induction heads may have formed: arXiv:2209.11895 finds such a bump in models of every size with two or more "
        "layers, when later tokens of a text become easier than early ones. Measure the in-context learning score, and "
        "the induction score of every head before and after.",
    )


def numbers(now: Moment, vocab: int) -> None:
    """The numbers of one moment."""
    early, late = growth.places(len(now.by_place) + 1)
    with st.container(horizontal=True, gap="medium"):
        st.metric(
            "Loss, first copy", f"{now.first_loss:.2f}", help=f"Baseline of a uniform guess: {math.log(vocab):.2f} nats"
        )
        st.metric("Second copy", f"{now.second_loss:.2f}")
        st.metric(
            "In-context score",
            f"{now.in_context:+.2f}",
            help=f"In-context learning score: loss of token {late} minus that of {early}, nats",
        )


def course(moments: Sequence[Moment], at: int, steps: int, vocab: int, *, log: bool) -> None:
    """The curves until now."""
    now, found = moments[at], growth.jump(list(moments))
    fell = (
        f"; the loss falls between steps {found[0]:,} and {found[1]:,} (shaded)" if found else "; no phase change yet"
    )
    figure(
        figures.course_figure(moments, at, steps, found, math.log(vocab), 430, log=log),
        key="course",
        height=430,
        min_width=420,
        alt=f"At step {now.step}: loss {now.first_loss:.2f} on the first copy, {now.second_loss:.2f} on the second, "
        f"best induction head {now.induction.max():.2f}, best previous-token head {now.previous.max():.2f}{fell}.",
        caption=f"Step {now.step:,}: loss {now.first_loss:.2f} and {now.second_loss:.2f}; best induction head "
        f"{now.induction.max():.2f}, previous-token head {now.previous.max():.2f}, K-composition "
        f"{now.key_composition:.2f}{fell}.",
        table=lambda: pd.DataFrame(
            [
                (
                    m.step,
                    m.first_loss,
                    m.second_loss,
                    m.induction.max(),
                    m.previous.max(),
                    m.key_composition,
                    m.in_context,
                )
                for m in moments
            ],
            columns=[
                "step",
                "first loss",
                "second loss",
                "induction",
                "previous token",
                "K-composition",
                "in-context score",
            ],
        ),
    )


def along(now: Moment, start: Moment, vocab: int) -> None:
    """The loss by position."""
    early, late = growth.places(len(now.by_place) + 1)
    figure(
        figures.places_figure(now, start, early, late, math.log(vocab), 340),
        key="along",
        height=340,
        min_width=300,
        alt=f"Loss by position: token {early} {now.by_place[early - 2]:.2f}, token {late} "
        f"{now.by_place[late - 2]:.2f}; the difference is the in-context learning score, {now.in_context:+.2f}.",
        caption=f"Loss by position, {growing.MEASURED_ROWS} sequences that repeat after a period of their own. "
        "In-context learning score: "
        f"token {late} minus token {early}, {now.in_context:+.2f} nats.",
        table=lambda: pd.DataFrame({"token": range(2, len(now.by_place) + 2), "loss": now.by_place}),
    )


def maps(now: Moment) -> None:
    """The map of every head."""
    layers = len(now.induction)
    height = 210 * layers
    figure(
        figures.maps_figure(now, height),
        key="maps",
        height=height,
        min_width=500,
        alt=f"Attention patterns of every head at step {now.step}; best induction head {now.induction.max():.2f}, best "
        f"previous-token head {now.previous.max():.2f}.",
        caption=f"Every head at step {now.step:,}, on {growth.SHOWN} repeated random tokens: rows are queries, columns "
        "keys. Above each: previous-token and induction score. Stripe right below the diagonal: previous token; "
        "half-way down: induction.",
        table=lambda: pd.DataFrame(now.patterns.reshape(-1, now.patterns.shape[-1])),
    )
