"""Break a Transformer on purpose: each mistake trained here and now beside a baseline."""

from collections.abc import Callable
from typing import Any, cast

import pandas as pd
import streamlit as st

from pages.block.pitfalls import experiments
from pages.block.pitfalls.facts import FACTS
from pages.block.pitfalls.words import WORDS
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import live
from tfcore.analysis.block.pitfall_findings import SYMPTOMS, finding, half_precision
from tfcore.analysis.block.pitfalls import (
    DOSES,
    AcrossBatch,
    HalfGradients,
    Look,
    Pitfall,
    PitfallConfig,
    Twin,
    WithoutSkip,
    last_said,
    most_steps,
    train_to_the_end,
    train_twins,
    without_final_norm,
)
from tfcore.masks import bidirectional

HEIGHT = 380
NAMES = FACTS.sections.names
TRY: dict[str, dict[str, Any]] = {
    "no causal mask": {"kind": "mask"},
    "a deep one without skips": {"kind": "skip", "skip": 8, "steps": 80},
    "learning rate × 300": {"kind": "rate", "rate": 300},
    "nearly all gradients lost": {"kind": "half", "half": 4096},
    "no positions": {"kind": "positions"},
}
SOURCES: dict[Pitfall, Callable[..., Any] | type] = {
    "mask": bidirectional,
    "axis": AcrossBatch,
    "skip": WithoutSkip,
    "final": without_final_norm,
    "half": HalfGradients,
}


def choose() -> PitfallConfig:
    """The experiment that the controls ask for."""
    dose = 0
    if words.dose:
        options, usual = DOSES[kind]
        names = {option: words.doses.format(f"{option:,}") for option in options}
        dose = controls.select(words.dose, kind, options, usual, names)
    steps = controls.slider("Training steps", "steps", 40, most_steps(kind, dose), 160, 20)
    seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
    return PitfallConfig(kind=kind, dose=dose, seed=seed, steps=steps)


def show(config: PitfallConfig, looks: list[Look]) -> None:
    """Both figures, and what the two models write."""
    name, symptom = NAMES[config.kind], SYMPTOMS[config.kind].title
    table = pd.DataFrame(
        [(look.step, *look.loss, *look.symptom) for look in looks],
        columns=["step", "loss with mistake", "loss of baseline", f"{symptom} with mistake", f"{symptom} of baseline"],
    )
    left, right = st.columns(2, gap="medium")
    for place, key, shown in (
        (left, "loss", experiments.twins(config, looks, name)),
        (right, "symptom", experiments.symptom(config, looks, name)),
    ):
        with place:
            figure(shown.figure, key=key, height=HEIGHT, table=table, alt=shown.alt, caption=shown.caption)
    say(config, looks)


def say(config: PitfallConfig, looks: list[Look]) -> None:
    """What each model generates now, and the finding."""
    if (spoken := last_said(looks)) is not None:
        step, said = spoken
        names = ("With the mistake", "Baseline")
        for place, name, written in zip(st.columns(2, gap="medium"), names, said, strict=True):
            place.caption(f"{name}, after {step} steps, says:")
            place.code(written, language=None, wrap_lines=True)
    st.markdown(f"**Found.** {finding(config, looks)}")


page.begin(FACTS)
kind = cast(Pitfall, controls.sections(FACTS.sections))
words = WORDS[kind]
page.try_this(TRY)
left, right = st.columns([1, 3], gap="large")
with left:
    config = choose()
    beside = st.container()
with right:
    st.markdown(words.claim)
    picture = st.container()
    st.code(words.change, language="diff", wrap_lines=True)
live.watch_training(
    config,
    lambda: train_twins(config),
    lambda look: look.step,
    {"seed": controls.next_seed(config.seed)},
    (beside, picture),
    lambda looks: show(config, looks),
)
if kind == "half":
    st.caption(str(half_precision(config)))
page.what_to_see(words.see)
st.markdown(f"**What settles it.** {words.settle}")
TASK = (
    "Task: rows of 10 symbols of 16, to be said backwards by an encoder of 2 layers, width 64."
    if kind == "positions"
    else "Task: sentences of a little language of our own, letter by letter; decoders of width 64, 16 texts of 48 "
    "letters per step, AdamW."
)
st.caption(f"Paper: {words.source}. {TASK}")
page.question(
    "A colleague's language model has a training loss of 0.05 after an hour, far below what others report, and writes "
    "nonsense. What do you test first?",
    "Whether the causal mask is on. Change one token and compare the outputs before it: with a causal mask they are "
    "the same bits. A loss below the entropy of the task is a leak; “no mask” above shows how it looks.",
)
page.how_it_is_computed(
    page.experiment(experiments.twins, config, made(train_to_the_end, config), NAMES[kind]),
    code=(*([SOURCES[kind]] if kind in SOURCES else []), Twin, train_twins),
)
