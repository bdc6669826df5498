"""The page on induction: the phase change in the training of a shipped model, frame by frame."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.induction import experiments
from pages.ui import cache, controls, head_links, page
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from pages.ui.program import made
from tfcore.analysis.inside import phase_change
from tfcore.measures.heads import induction_moments
from tfcore.measures.heads.induction_moments import Moment
from tfcore.training import growing

VOCAB = 256  # of the model
TRY: dict[str, dict[str, Any]] = {
    "untrained": {"frame": 0},
    "before the phase change": {"frame": 8},
    "in the middle of it": {"frame": 12},
    "after it": {"frame": 16},
    "at the end": {"frame": 26},
}


frame_of = cache.data(max_entries=64)(growing.film_moment)


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
    page.try_this(TRY)
    left, right = st.columns([2, 3], gap="large")
    with left:
        at = controls.slider("Frame", "frame", 0, last, 12)
        player("frame", 0, last, at, label="Play the training", period=0.35)
        now = moments[at]
        numbers(moments, at, VOCAB)
    with right:
        course(moments, at, moments[-1].step, VOCAB, log=True)
    below, every = st.columns([2, 3], gap="large")
    with below:
        along(now, moments[0], VOCAB)
    with every:
        maps(now)
    found = phase_change.heads_form(moments)
    page.what_to_see(
        f"At first the loss stays near that of a uniform guess, {phase_change.uniform_loss_text(VOCAB)}. "
        f"{found or ''} The two kinds of heads form together, because neither lowers the "
        "loss without the other."
    )
    page.question(
        "Early in its training, the loss of a large model drops faster for a short while, though no setting was "
        "changed. What might have happened, and what would you measure?",
        "Induction heads may have formed: arXiv:2209.11895 finds such a bump in models of every size with two or more "
        "layers, when later tokens of a text become easier than early ones. Measure the in-context learning score, and "
        "the induction score of every head before and after.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.maps, made(growing.film_moment, at)),
        code=(
            induction_moments.moment,
            induction_moments.in_context_score,
            phase_change.heads_form,
            growing.film_moment,
        ),
        papers=(
            "In-context learning score and the phase change: arXiv:2209.11895, argument 1; there the 500th token "
            "against the 50th, here the 120th against the 12th. The recipe of the shipped model: "
            "tfcore/training/recipes/induction.py"
        ),
    )


def numbers(moments: list[Moment], at: int, vocab: int) -> None:
    """The numbers of one moment."""
    with st.container(horizontal=True, gap="medium"):
        for label, value, explained in phase_change.moment_losses(moments, at, vocab).metrics:
            st.metric(label, value, help=explained)


def course(moments: list[Moment], at: int, steps: int, vocab: int, *, log: bool) -> None:
    """The curves until now."""
    shown = experiments.course(moments, at, steps, vocab, log)
    figure(
        shown.figure,
        key="course",
        height=430,
        min_width=350,
        alt=shown.alt,
        caption=shown.caption,
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
    shown = experiments.by_position(now, start, vocab)
    figure(
        shown.figure,
        key="along",
        height=340,
        min_width=300,
        alt=shown.alt,
        caption=f"{shown.caption} Mean over {growing.MEASURED_ROWS} sequences that repeat after a period of their own.",
        table=lambda: pd.DataFrame({"token": range(2, len(now.by_place) + 2), "loss": now.by_place}),
    )


def maps(now: Moment) -> None:
    """The map of every head."""
    shown = experiments.maps(now)
    figure(
        shown.figure,
        key="maps",
        height=shown.figure.layout.height,
        min_width=500,
        alt=shown.alt,
        caption=f"{shown.caption} Measured on {induction_moments.SHOWN} repeated random tokens: rows are queries, "
        "columns keys. Above each: previous-token and induction score. Stripe right below the diagonal: previous "
        f"token; half-way down: induction. {head_links.IN_TRAINING}",
        table=lambda: pd.DataFrame(now.patterns.reshape(-1, now.patterns.shape[-1])),
    )
