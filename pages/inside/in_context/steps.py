"""Section of the page on in-context learning: a question answered at once, or after its steps are written."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.inside.in_context import experiments
from pages.ui import cache, controls, keys, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.work import jobs, live
from tfcore.analysis.inside.in_context import steps as analysis
from tfcore.analysis.inside.in_context.steps import MOST_TOKENS, PROBLEMS, WAYS, Way, Written

TRY = {"problem 7, at once": {"problem": 7, "way": "direct"}, "problem 7, after steps": {"problem": 7, "way": "steps"}}


def steps() -> None:
    """The section."""
    page.try_this(TRY)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        way = controls.segmented("Answer", "way", list(WAYS), "steps", WAYS)
        number = controls.place("Problem", "problem", PROBLEMS)
        with page.more_settings():
            readers = models.reads(analysis.asked(number, way))
            model = models.choose("decoder", why_not=readers, default=models.first())
    left, right = st.columns([2, 3], gap="large")
    with left:
        measured(way)
    with right:
        one(model, number, way)
    words(way)


def measured(way: Way) -> None:
    """Accuracy of both ways, as it was measured and kept."""
    shown = experiments.by_steps(way)
    figure(
        shown.figure,
        key="steps",
        height=300,
        table=lambda: table(analysis.kept_steps().direct if way == "direct" else analysis.kept_steps().steps),
        alt=shown.alt,
        caption=shown.caption,
    )


def table(rows: Sequence[Written]) -> pd.DataFrame:
    """What was written to every problem."""
    return pd.DataFrame(
        {
            "problem": [analysis.problem(one.seed).question for one in rows],
            "written": [one.text.strip() for one in rows],
            "right answer": [analysis.problem(one.seed).answer for one in rows],
            "right": [one.right for one in rows],
        }
    )


def one(model: str, number: int, way: Way) -> None:
    """One problem: what was kept of it, and a button that lets the model write it now."""
    asked = analysis.problem(number)
    st.markdown(f"**Problem {number}.** {text.escape(asked.question)} Right: {asked.answer}.")
    if model == analysis.kept_steps().model:
        kept = getattr(analysis.kept_steps(), way)[number]
        st.markdown(f"Kept from the measurement: “{text.escape(kept.text.strip())}”")
    key = ("in-context steps", model, number, way)
    if (reason := analysis.too_long(*cache.model(model), number, way)) is not None:
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
    with st.expander(f"The prompt, with {analysis.SHOTS} solved problems"):
        st.code(analysis.asked(number, way), language=None, wrap_lines=True)


def _start(model: str, number: int, way: Way, key: tuple[str, str, int, Way]) -> None:
    network, tokenizer = cache.model(model)
    live.begin(key, lambda: analysis.write(network, tokenizer, number, way))


def draw(model: str, number: int, way: Way, key: tuple[str, str, int, Way], job: jobs.Job) -> None:
    """What is written until now."""
    tokenizer = cache.model(model)[1]
    ids = [int(token) for token in job.items]
    if ids:
        text.chips(tokenizer.tokens(ids), key="written", label="What the model writes, token by token")
    if job.state == "done":
        said = analysis.said_answer(tokenizer.decode(ids))
        verdict = "no answer" if said is None else f"{said}: {_verdict(said == analysis.problem(number).answer)}"
        st.markdown(f"{len(ids)} forward passes, one for each token; it answers {verdict}.")
    total = max(1, len(ids)) if job.state == "done" else MOST_TOKENS[way]
    live.bar(key, job, len(ids), total, {}, work="answer", step="token", fresh="")


def _verdict(right: bool) -> str:
    return "right" if right else "wrong"


def words(way: Way) -> None:
    """What to see, the question, how it is computed."""
    page.what_to_see(
        "A forward pass has a fixed number of layers, whatever the question. **Steps written first** give more passes, "
        "one for each token, and put results in between into the text, where attention can read them: chain of "
        "thought. More passes help only a model that can do each single step; the caption says how many of the steps "
        "that smollm2 wrote are right, and the last step is a subtraction."
    )
    page.question(
        "smollm2 writes the form of the steps without a fault, and still answers wrongly. How can both be?",
        "The form stands in the prompt, four times: it can be copied. A difference of two numbers stands nowhere; it "
        "has to be computed in one pass, and a model of 135 million parameters has learned little of that. Chain of "
        "thought is reported to help models of about 100 billion parameters (arXiv:2201.11903, section 3.2).",
    )
    page.how_it_is_computed(
        page.experiment(experiments.by_steps, way),
        formula=(
            r"p(\text{answer} \mid \text{question}) \quad \text{or} \quad "
            r"\prod_t p(\text{step}_t \mid \text{question}, \text{step}_{<t}) \cdot "
            r"p(\text{answer} \mid \text{question}, \text{steps})"
        ),
        code=(analysis.problem, analysis.asked, analysis.write, analysis.operations, analysis.steps_help),
        papers=(
            "Chain of thought: arXiv:2201.11903. Solved problems in the prompt: arXiv:2005.14165. Greedy decoding to "
            f"the end of the line, at most {MOST_TOKENS['steps']} tokens; an answer is the number after “answer is”. "
            "Operations are matrix products of the written tokens, the prompt left out. Measured by "
            "`python -m tfcore.analysis.inside.in_context.steps`."
        ),
        terms=("few-shot prompting", "chain of thought"),
    )
