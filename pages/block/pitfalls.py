"""Break a Transformer on purpose: each mistake trained here and now beside its healthy twin."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from pages.block._pitfalls_words import HALF, WORDS
from pages.ui import controls, jobs, page
from pages.ui.figure import figure
from tfcore.analysis import pitfall_variants as variants
from tfcore.analysis.pitfall_findings import Finding, finding
from tfcore.analysis.pitfalls import DOSES, KINDS, Look, Pitfall, PitfallConfig, Twin, train_twins
from tfcore.figures import pitfalls as figures

EVERY, FIRST = 0.7, 2.0  # seconds between two looks at a training, and at most until the first
HEIGHT = 380
NAMES: dict[Pitfall, str] = {kind: words.name for kind, words in WORDS.items()}
TRY: dict[str, dict[str, Any]] = {
    "too good to be true": {"kind": "mask"},
    "a deep one without skips": {"kind": "skip", "skip": 8, "steps": 80},
    "300 times too fast": {"kind": "rate", "rate": 300},
    "nearly all gradients lost": {"kind": "half", "half": 4096},
    "who needs order?": {"kind": "positions"},
}
STOPPED = "pitfalls stopped"  # in the session: the experiment this visitor stopped, not to be begun again by itself
SOURCES: dict[Pitfall, Callable[..., Any] | type] = {
    "mask": variants.everyone, "axis": variants.AcrossBatch, "skip": variants.WithoutSkip,
    "final": variants.Untouched, "half": variants.HalfGradients,
}  # fmt: skip


def choose() -> PitfallConfig:
    """The experiment that the controls ask for."""
    dose = 0
    if words.dose:
        options, usual = DOSES[kind]
        names = {option: words.doses.format(f"{option:,}") for option in options}
        dose = controls.select(words.dose, kind, options, usual, names)
    steps = controls.slider("Training steps", "steps", 40, 400, 160, 20)
    seed = controls.slider("Seed of weights and batches", "seed", 0, 20, 0)
    return PitfallConfig(kind=kind, dose=dose, seed=seed, steps=steps)


def stop(config: PitfallConfig) -> None:
    st.session_state[STOPPED] = config
    jobs.JOBS.stop(config, jobs.visitor())


def go_on() -> None:
    st.session_state.pop(STOPPED, None)


def begin(config: PitfallConfig) -> jobs.Job:
    """The training of this experiment: begun unless it was stopped here, and with something to show already."""
    if st.session_state.get(STOPPED) == config:
        return jobs.JOBS.look(config, jobs.visitor()) or jobs.Job("stopped")
    job = jobs.JOBS.start(config, lambda: train_twins(config), jobs.visitor())
    if job.active and not job.items:
        jobs.JOBS.wait(config, 1, FIRST)
    return jobs.JOBS.look(config, jobs.visitor()) or job


def bar(job: jobs.Job, config: PitfallConfig) -> None:
    """How far the training is, and the button that stops it or begins again; it never moves."""
    done = job.items[-1].step if job.items else 0
    said = {
        "waiting": f"Waiting: other trainings are running, and {job.ahead} wait before this one",
        "running": f"Step {done} of {config.steps}, {job.seconds:.0f} s",
        "done": f"Both trained for {config.steps} steps in {job.seconds:.1f} s",
        "stopped": f"Stopped at step {done} of {config.steps}",
        "failed": f"The training failed: {job.problem}",
        "refused": "Too many trainings wait on this server; try again in a minute",
    }
    st.progress(done / config.steps, said[job.state])
    if job.active:
        st.button("Stop", key="stop", on_click=stop, args=(config,), width="stretch")
    elif job.state == "done":
        seed = {"seed": (config.seed + 1) % 21}
        st.button("Another seed", key="again", on_click=controls.set_values, kwargs=seed, width="stretch")
    else:
        st.button("Train again", key="anew", on_click=go_on, width="stretch")


def show(config: PitfallConfig, looks: list[Look]) -> None:
    """Both figures, and what the two models write."""
    words, found, last = WORDS[config.kind], finding(config, looks), looks[-1]
    table = pd.DataFrame(
        [(look.step, *look.loss, *look.symptom) for look in looks],
        columns=["step", "loss broken", "loss healthy", f"{words.symptom} broken", f"{words.symptom} healthy"],
    )
    places = st.columns(2, gap="medium")
    parts = (
        ("loss", "Training loss", last.loss, found.loss.text, figures.loss_figure(looks, found, config.steps, HEIGHT)),
        ("symptom", words.symptom.capitalize(), last.symptom, found.symptom.text,
         figures.symptom_figure(looks, found, config.steps, words.symptom, HEIGHT, log=words.log, top=words.top)),
    )  # fmt: skip
    for place, (key, title, (bad, good), remark, drawn) in zip(places, parts, strict=True):
        numbers = f"{bad:.3g} with the mistake, {good:.3g} without"
        with place:
            figure(
                drawn, key=key, height=HEIGHT, table=table,
                alt=f"{title} after {last.step} steps, {words.name}: {numbers}. {remark}.",
                caption=f"{title} after {last.step} steps: {numbers}.",
            )  # fmt: skip
    say(looks, found)


def say(looks: list[Look], found: Finding) -> None:
    """What each model says now, and what the numbers say."""
    spoken = next((look for look in reversed(looks) if look.said is not None), None)
    if spoken is not None and spoken.said is not None:
        names = ("With the mistake", "Healthy twin")
        for place, name, said in zip(st.columns(2, gap="medium"), names, spoken.said, strict=True):
            place.caption(f"{name}, after {spoken.step} steps, says:")
            place.code(said, language=None, wrap_lines=True)
    st.markdown(f"**Found.** {found.sentence}")


def watch(config: PitfallConfig, live: bool) -> None:
    """The training as it is now. Runs again by itself while there is more to come."""
    job = jobs.JOBS.look(config, jobs.visitor()) or jobs.Job("refused")
    if live and not job.active:
        st.rerun()  # the whole page, which then stops looking
    with beside:
        bar(job, config)
    with picture:
        if job.items:
            show(config, list(job.items))
        else:
            st.info("Nothing is trained yet: it begins as soon as there is room.")


page.begin(
    "Break it on purpose",
    "A Transformer with a mistake seldom crashes: it trains, and something is a little off. Here each mistake is "
    "trained now, on this server, beside a healthy twin with the same seed and the same batches.",
)
kind = controls.segmented("Mistake", "kind", list(KINDS), "mask", NAMES)
words = WORDS[kind]
left, right = st.columns([1, 3], gap="large")
with left:
    config = choose()
    beside = st.container()
with right:
    st.markdown(words.claim)
    st.code(words.change, language="diff", wrap_lines=True)
    picture = st.container()
job = begin(config)
st.fragment(watch, run_every=EVERY if job.active else None)(config, job.active)
if kind == "half":
    st.caption(HALF.format(dose=config.dose, tokens=768 * config.dose))
page.try_this(TRY)
page.what_to_see(words.see)
st.markdown(f"**What settles it.** {words.settle}")
TASK = (
    "Task: rows of 10 symbols of 16, to be said backwards by an encoder of 2 layers, width 64."
    if kind == "positions"
    else "Task: sentences of a little language of our own, letter by letter; decoders of width 64, 16 texts of 48 "
    "letters a step, AdamW."
)
st.caption(f"Paper: {words.source}. {TASK}")
page.source(*([SOURCES[kind]] if kind in SOURCES else []), Twin, train_twins)
page.question(
    "A colleague's language model has a training loss of 0.05 after an hour, far below what others report, and writes "
    "nonsense. What do you test first?",
    "Whether it sees the future. Change one token and compare the outputs before it: with a causal mask they are the "
    "same bits. A loss below what is possible is no success but a leak; “no mask” above shows how it looks.",
)
