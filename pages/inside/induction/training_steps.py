"""The page on induction: the phase change in the training of a shipped model, frame by frame."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui import controls, head_links
from pages.ui.components.player import player
from pages.ui.frame import panel
from tfcore.measures.heads.induction_moments import Moment
from tfcore.training.growing import film_steps
from tfcore.views.inside import induction as views
from tfcore.views.inside.induction.measure.training import moment_of
from tfcore.views.inside.induction.say.training import heads_form, moment_losses, uniform_loss_text
from tfcore.views.inside.induction.training import VOCAB

TRY: dict[str, dict[str, Any]] = {
    "untrained": {"frame": 0},
    "before the phase change": {"frame": 8},
    "in the middle of it": {"frame": 12},
    "after it": {"frame": 16},
    "at the end": {"frame": 26},
}


def film() -> None:
    """Show the section."""
    steps = film_steps()
    st.markdown(
        f"Checkpoints of `induction`, two layers of attention, from {len(steps)} steps of its training. "
        "Each is loaded into the model and measured."
    )
    moments = whole_film(steps)
    last = len(moments) - 1
    with panel(None) as p:
        p.examples(TRY)
        left, right = st.columns([2, 3], gap="large")
        with left:
            at = controls.slider("Frame", "frame", 0, last, 12)
            player("frame", 0, last, at, label="Play the training", period=0.35)
            numbers(moments, at, VOCAB)
        with right:
            p.show(views.film_course(at))
        below, every = st.columns([2, 3], gap="large")
        with below:
            p.show(views.film_by_position(at))
        with every:
            p.show(views.film_maps(at), hint=head_links.IN_TRAINING)
        p.what_to_see(
            f"At first the loss stays near that of a uniform guess, {uniform_loss_text(VOCAB)}. "
            f"{heads_form(moments) or ''} The two kinds of heads form together, because neither lowers the loss "
            "without the other."
        )
        p.question(
            "Early in its training, the loss of a large model drops faster for a short while, though no setting was "
            "changed. What might have happened, and what would you measure?",
            "Induction heads may have formed: arXiv:2209.11895 finds such a bump in models of every size with two or "
            "more layers, when later tokens of a text become easier than early ones. Measure the in-context learning "
            "score, and the induction score of every head before and after.",
        )


def whole_film(steps: Sequence[int]) -> list[Moment]:
    """Every frame, with progress where they are not measured yet."""
    place, moments = st.empty(), []
    for i, step in enumerate(steps):
        moments.append(moment_of(i))
        if i % 4 == 3:
            place.progress(i / len(steps), f"Measuring frame {i + 1} of {len(steps)}, step {step}")
    place.empty()
    return moments


def numbers(moments: Sequence[Moment], at: int, vocab: int) -> None:
    """The numbers of one moment."""
    with st.container(horizontal=True, gap="medium"):
        for label, value, explained in moment_losses(moments, at, vocab).metrics:
            st.metric(label, value, help=explained)
