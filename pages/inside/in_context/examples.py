"""Section of the page on in-context learning: examples in the prompt, the answer live, the accuracy by their number."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.in_context import experiments
from pages.inside.in_context.choice import NAMES, choose, of_first
from pages.ui import cache, fragments, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inside.in_context import accuracy, live, tasks
from tfcore.analysis.inside.in_context.tasks import Labels
from tfcore.measures import statistics

TRY: dict[str, dict[str, Any]] = {
    "no example": {"task": "antonyms", "k": 0, "labels": "right"},
    "one example": {"task": "antonyms", "k": 1, "labels": "right"},
    "random labels": {"task": "antonyms", "k": 16, "labels": "random"},
    "capitals, random labels": {"task": "capitals", "k": 16, "labels": "random"},
    "a code it cannot know": {"task": "code", "k": 12, "labels": "right"},
}
TRY_OTHERS: dict[str, dict[str, Any]] = {
    "two layers that only copy": {"model": "induction", "task": "code", "k": 12, "labels": "right"}
}


@cache.shared(max_entries=8)
def read(model: str, task: str, labels: Labels, seed: int) -> live.ReadExamples:
    """The examples of a prompt, as far as somebody asked for them."""
    return live.ReadExamples(*cache.model(model), task, labels, seed)


@cache.data(max_entries=256)
def answer(model: str, task: str, labels: Labels, count: int, seed: int) -> live.Answer:
    """The answer after some examples; each of them is read once."""
    return live.answer(*cache.model(model), task, labels, count, seed, read(model, task, labels, seed))


def examples() -> None:
    """The section."""
    page.try_this({**of_first(TRY), **TRY_OTHERS})
    latest, counted = page.Latest(), page.Latest()
    prompt_and_curve(latest, counted)
    words(latest, counted)


@fragments.fragment
def prompt_and_curve(latest: page.Latest, counted: page.Latest) -> None:
    """The controls, and what depends on them."""
    model, task, labels, count, seed = choose()
    left, right = st.columns([3, 2], gap="large")
    with left:
        curve(model, task, labels, count, counted)
    with right:
        try:
            found = answer(model, task, labels, count, seed)
        except ValueError as problem:
            st.info(f"No answer: {text.escape(str(problem), text.MESSAGE)}.")
            return
        shown = experiments.next_token(found)
        figure(
            shown.figure,
            key="next",
            height=250,
            table=lambda: pd.DataFrame({"token": found.tokens, "probability": found.probabilities}),
            alt=shown.alt,
            caption=shown.caption,
        )
        st.metric(f"Probability of {text.escape(text.visible(found.token))}", f"{found.probability:.1%}")
    st.caption(f"The prompt, {found.length} tokens:")
    st.code(found.text, language=None, height=260)
    latest.offer(experiments.next_token, made(live.answer, model, task, labels, count, seed), what="The answer")


def curve(model: str, task: str, labels: Labels, count: int, counted: page.Latest) -> None:
    """What was measured, where it was."""
    if (model, task) not in accuracy.kept():
        there = " and ".join(sorted({one for one, what in accuracy.kept() if what == task}))
        st.info(
            f"The accuracy of {text.escape(model, text.NAME)} on {NAMES[task]} has not been measured: it takes "
            f"minutes, and was measured once, for {there}. The answer beside it is this model's."
        )
        return
    shown = experiments.by_examples(model, task, labels, count)
    found = accuracy.kept()[model, task]
    figure(
        shown.figure,
        key="accuracy",
        height=330,
        min_width=340,
        table=lambda: pd.DataFrame({one.labels: one.right for one in found.curves}).assign(prompts=accuracy.PROMPTS),
        alt=shown.alt,
        caption=shown.caption,
    )
    counted.offer(experiments.by_examples, model, task, labels, count, what="The curve")


def words(*programs: page.Latest) -> None:
    """What to see, the question, how it is computed."""
    page.what_to_see(
        "No weight changes: the examples are only read. The first few show **what is asked**: the form of an answer "
        "and the kind of word. Compare the two labellings. Where random labels hardly hurt, the answers come from "
        "training, and the examples only call them up; where they pull the accuracy down to that of a guess, the model "
        "reads the **pairs** themselves, as it must in a code that was made up for this prompt."
    )
    page.question(
        "With random labels smollm2 still names most capitals. Has it learned nothing from the examples?",
        "It has: which kind of word to answer with. Without examples it seldom names the right capital first. What it "
        "did not take from the examples is which capital goes with which country; that it knew, and labels that "
        "contradict it hardly count. In the made-up code nothing is known beforehand, and random labels leave only a "
        "guess.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\begin{gathered} x_1\,y_1 \ldots x_k\,y_k\,x_{k+1} \to y_{k+1}, \qquad "
            r"\hat y = \arg\max_{y \in \text{answers}} p(y \mid \text{prompt}) \\ "
            r"\text{interval} = \frac{1}{1 + z^2/n}\left(p + \frac{z^2}{2n} \pm "
            r"z \sqrt{\frac{p(1-p)}{n} + \frac{z^2}{4n^2}}\right) \end{gathered}"
        ),
        code=(tasks.draw, tasks.prompt, live.ReadExamples, live.answer, accuracy.measure, statistics.wilson),
        papers=(
            "Examples in the prompt: arXiv:2005.14165. Random labels: arXiv:2202.12837, section 4.1; there "
            "they are drawn from the set of labels, as here. Another order: arXiv:2104.08786. An answer counts as "
            "right if its first token is the most probable among the first tokens of the task's answers. Of one prompt "
            "every line is asked, so prompts of different lengths share words; the interval is Wilson's, and takes the "
            f"{accuracy.PROMPTS} prompts of each length for a random sample. Counts: "
            "`python -m tfcore.analysis.inside.in_context.accuracy`."
        ),
        terms=("in-context learning", "few-shot prompting", "confidence interval"),
    )
