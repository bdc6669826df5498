"""The page on masks: a model trained without one, here and now, beside one trained with it."""

import streamlit as st

from pages.ui import controls
from pages.ui.frame import Panel, panel
from pages.ui.work import jobs, live
from tfcore.training.pitfalls import PitfallConfig, PitfallEvaluation, last_said, train_twins
from tfcore.views.foundations import masks as views

STEPS = 160


def cheating() -> None:
    """Show a switch that begins the training, both curves, and what both models write."""
    st.subheader("Trained without a mask: the label leaks", anchor=False)
    st.markdown(
        "A model that attends to the token it is to predict need not learn anything else. Two small models, the same "
        "seed and the same texts, a token per letter; one has no causal mask."
    )
    if not controls.toggle("Train both, now (some ten seconds)", "train"):
        return
    seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
    config = PitfallConfig(kind="mask", seed=seed, steps=STEPS)
    with panel(None) as p:

        def draw(job: jobs.Job) -> None:
            looks: list[PitfallEvaluation] = list(job.items)
            live.bar(config, job, looks[-1].step if looks else 0, STEPS, {"seed": controls.next_seed(seed)})
            if looks:
                show(p, config, looks)

        live.watch(config, draw, live.begin(config, lambda: train_twins(config)))


def show(p: Panel, config: PitfallConfig, looks: list[PitfallEvaluation]) -> None:
    """The losses so far, and what the models write."""
    curves, texts = st.columns([3, 2], gap="medium")
    with curves:
        p.show(views.trained(config, so_far=looks))
    with texts:
        if (spoken := last_said(looks)) is not None:
            _, said = spoken
            for name, words in zip(("Generated without a mask", "Generated with a mask"), said, strict=True):
                st.caption(f"{name}:")
                st.code(words, language=None, wrap_lines=True)
