"""Break a Transformer on purpose: each mistake trained beside a baseline, here and now where no such run is stored."""

from typing import cast

import streamlit as st

from pages.block.pitfalls.facts import FACTS
from pages.block.pitfalls.words import WORDS
from pages.ui import controls, page
from pages.ui.frame import panel
from pages.ui.work import live
from tfcore.training.pitfalls import (
    DOSES,
    Pitfall,
    PitfallConfig,
    PitfallEvaluation,
    last_said,
    most_steps,
    train_twins,
)
from tfcore.views.block import pitfalls as views
from tfcore.views.block.pitfalls.say import half_precision
from tfcore.views.pitfall_remarks import remarks


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


def show(looks: list[PitfallEvaluation]) -> None:
    """Both figures, what each model generates now, and what was found."""
    mistake = FACTS.sections.names[kind]
    left, right = st.columns(2, gap="medium")
    with left:
        p.show(live.over_stored(lambda run: views.losses(config, mistake, so_far=run), looks, stored))
    with right:
        p.show(live.over_stored(lambda run: views.symptom(config, mistake, so_far=run), looks, stored))
    if (spoken := last_said(looks)) is not None:
        step, said = spoken
        names = ("With the mistake", "Baseline")
        for place, name, written in zip(st.columns(2, gap="medium"), names, said, strict=True):
            place.caption(f"{name}, after {step} steps, says:")
            place.code(written, language=None, wrap_lines=True)
    st.markdown(f"**Found.** {remarks(config, looks)}")


page.begin(FACTS)
kind = cast(Pitfall, controls.sections(FACTS.sections))
words = WORDS[kind]
with panel() as p:
    p.examples(
        {
            "no causal mask": {"kind": "mask"},
            "a deep one without skips": {"kind": "skip", "skip": 8, "steps": 80},
            "learning rate × 300": {"kind": "rate", "rate": 300},
            "nearly all gradients lost": {"kind": "half", "half": 4096},
            "no positions": {"kind": "positions"},
        }
    )
    with p.controls:
        config = choose()
        beside = st.container()
    with p.picture:
        st.markdown(words.claim)
        picture = st.container()
        st.code(words.change, language="diff", wrap_lines=True)
    stored = views.stored_runs().get(config, ())
    live.watch_training(
        config,
        lambda: train_twins(config),
        lambda look: look.step,
        {"seed": controls.next_seed(config.seed)},
        (beside, picture),
        show,
        stored=stored,
    )
    if kind == "half":
        st.caption(str(half_precision(config)))
    task = (
        "Task: rows of 10 symbols of 16, to be said backwards by an encoder of 2 layers, width 64."
        if kind == "positions"
        else "Task: sentences of a little language of our own, letter by letter; decoders of width 64, 16 texts of 48 "
        "letters per step, AdamW."
    )
    st.caption(f"Paper: {words.source}. {task}")
    p.what_to_see(f"{words.see}\n\n**What settles it.** {words.settle}")
    p.question(
        "A colleague's language model has a training loss of 0.05 after an hour, far below what others report, and "
        "writes nonsense. What do you test first?",
        "Whether the causal mask is on. Change one token and compare the outputs before it: with a causal mask they "
        "are the same bits. A loss below the entropy of the task is a leak; “no mask” above shows how it looks.",
    )
