"""The page on masks: a model trained without one, here and now, beside one trained with it."""

import pandas as pd
import streamlit as st

from pages.foundations.masks import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.block.pitfall_findings import finding
from tfcore.analysis.block.pitfalls import Look, PitfallConfig, last_said, train_twins
from tfcore.masks import bidirectional

STEPS = 160


def cheating() -> None:
    """The section: a switch that begins the training, both curves, and what both models write."""
    st.subheader("Trained without a mask: the label leaks", anchor=False)
    st.markdown(
        "A model that attends to the token it is to predict need not learn anything else. Two small models, the same "
        "seed and the same texts, a token per letter; one has no causal mask."
    )
    if not controls.toggle("Train both, now (some ten seconds)", "train"):
        return
    seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
    config = PitfallConfig(kind="mask", seed=seed, steps=STEPS)

    def draw(job: jobs.Job) -> None:
        looks: list[Look] = list(job.items)
        live.bar(config, job, looks[-1].step if looks else 0, STEPS, {"seed": controls.next_seed(seed)})
        if looks:
            show(config, looks)

    live.watch(config, draw, live.begin(config, lambda: train_twins(config)))
    page.how_it_is_computed(
        page.experiment(experiments.cheating, config, made(experiments.trained, config)),
        code=(bidirectional, train_twins),
    )


def show(config: PitfallConfig, looks: list[Look]) -> None:
    """The losses so far, and what the models write."""
    shown = experiments.cheating(config, looks)
    curves, texts = st.columns([3, 2], gap="medium")
    with curves:
        figure(
            shown.figure,
            key="cheating",
            height=340,
            table=lambda: pd.DataFrame([(k.step, *k.loss) for k in looks], columns=["step", "no mask", "mask"]),
            alt=shown.alt,
            caption=shown.caption,
        )
    with texts:
        if (spoken := last_said(looks)) is not None:
            _, said = spoken
            for name, words in zip(("Generated without a mask", "Generated with a mask"), said, strict=True):
                st.caption(f"{name}:")
                st.code(words, language=None, wrap_lines=True)
    st.markdown(f"**Found.** {finding(config, looks).sentence}")
