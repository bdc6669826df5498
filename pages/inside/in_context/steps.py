"""Section of the page on in-context learning: a question answered at once, or after its steps are written."""

import streamlit as st

from pages.ui import controls, keys, page, text
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.work import jobs, live
from tfcore.views.inside import in_context as views
from tfcore.views.inside.in_context.measure.steps import (
    MOST_TOKENS,
    PROBLEMS,
    SHOTS,
    WAYS,
    Way,
    asked,
    kept_steps,
    problem,
    said_answer,
    too_long,
    write,
)
from tfcore.views.sources import opened

TRY = {"problem 7, at once": {"problem": 7, "way": "direct"}, "problem 7, after steps": {"problem": 7, "way": "steps"}}


def steps() -> None:
    """Show the section."""
    with panel(None) as p:
        p.examples(TRY)
        with p.controls:
            way = controls.segmented("Answer", "way", list(WAYS), "steps", WAYS)
            number = controls.place("Problem", "problem", PROBLEMS)
            with page.more_settings():
                readers = models.reads(asked(number, way))
                model = models.choose("decoder", why_not=readers, default=models.first(), reads="the stream")
        left, right = st.columns([2, 3], gap="large")
        with left:
            p.show(views.by_steps(way))
        with right:
            one(model, number, way)
        p.what_to_see(
            "A forward pass has a fixed number of layers, whatever the question. **Steps written first** give more "
            "passes, one for each token, and put results in between into the text, where attention can read them: "
            "chain of thought. More passes help only a model that can do each single step; the caption says how many "
            "of the steps that smollm2 wrote are right, and the last step is a subtraction."
        )
        p.question(
            "smollm2 writes the form of the steps without a fault, and still answers wrongly. How can both be?",
            "The form stands in the prompt, four times: it can be copied. A difference of two numbers stands nowhere; "
            "it has to be computed in one pass, and a model of 135 million parameters has learned little of that. "
            "Chain of thought is reported to help models of about 100 billion parameters (arXiv:2201.11903, section "
            "3.2).",
        )


def one(model: str, number: int, way: Way) -> None:
    """One problem: what was kept of it, and a button that lets the model write it now."""
    question, _, right = problem(number)
    st.markdown(f"**Problem {number}.** {text.escape(question)} Right: {right}.")
    if model == kept_steps().model:
        kept = getattr(kept_steps(), way)[number]
        st.markdown(f"Kept from the measurement: “{text.escape(kept.text.strip())}”")
    key = ("in-context steps", model, number, way)
    network, tokenizer = opened(model)
    if (reason := too_long(network, tokenizer, number, way)) is not None:
        st.info(f"{text.escape(model, text.NAME)} cannot write it: {text.escape(reason, text.MESSAGE)}.")
        return
    job = jobs.JOBS.look(key, jobs.visitor())
    if job is None:
        st.button(
            "Write it now",
            key=keys.own("button", "write"),
            type="primary",
            on_click=_start,
            args=(model, number, way, key),
        )
    else:
        live.watch(key, lambda now: draw(model, number, way, key, now), job)
    with st.expander(f"The prompt, with {SHOTS} solved problems"):
        st.code(asked(number, way), language=None, wrap_lines=True)


def _start(model: str, number: int, way: Way, key: tuple[str, str, int, Way]) -> None:
    network, tokenizer = opened(model)
    live.begin(key, lambda: write(network, tokenizer, number, way))


def draw(model: str, number: int, way: Way, key: tuple[str, str, int, Way], job: jobs.Job) -> None:
    """Draw the tokens that are written so far."""
    tokenizer = opened(model)[1]
    ids = [int(token) for token in job.items]
    if ids:
        text.chips(tokenizer.tokens(ids), key="written", label="What the model writes, token by token")
    if job.state == "done":
        said = said_answer(tokenizer.decode(ids))
        verdict = "no answer" if said is None else f"{said}: {_verdict(said == problem(number).answer)}"
        st.markdown(f"{len(ids)} forward passes, one for each token; it answers {verdict}.")
    total = max(1, len(ids)) if job.state == "done" else MOST_TOKENS[way]
    live.bar(key, job, len(ids), total, {}, work="answer", step="token", fresh="")


def _verdict(right: bool) -> str:
    return "right" if right else "wrong"
