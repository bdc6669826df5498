"""Section of the page on in-context learning: examples in the prompt, the answer live, the accuracy by their number."""

from typing import Any

import streamlit as st

from pages.inside.in_context.choices import NAMES, ChosenPrompt, choose, of_first
from pages.ui import fragments, text
from pages.ui.frame import Panel, panel
from tfcore.views.inside import in_context as views
from tfcore.views.inside.in_context.measure.accuracy import kept

TALLEST, LINE, ROOM = 260, 23, 34  # pixels of the box of a prompt, of a line in it, and around all lines
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


def examples() -> None:
    """Show the section."""
    with panel(None) as p:
        p.examples({**of_first(TRY), **TRY_OTHERS})
        prompt_and_curve(p)
        p.what_to_see(
            "No weight changes: the examples are only read. The first few show **what is asked**: the form of an "
            "answer and the kind of word. Compare the two labellings. Where random labels hardly hurt, the answers "
            "come from training, and the examples only call them up; where they pull the accuracy down to that of a "
            "guess, the model reads the **pairs** themselves, as it must in a code that was made up for this prompt."
        )
        p.question(
            "With random labels smollm2 still names most capitals. Has it learned nothing from the examples?",
            "It has: which kind of word to answer with. Without examples it seldom names the right capital first. What "
            "it did not take from the examples is which capital goes with which country; that it knew, and labels that "
            "contradict it hardly count. In the made-up code nothing is known beforehand, and random labels leave only "
            "a guess.",
        )


@fragments.fragment
def prompt_and_curve(p: Panel) -> None:
    """The controls, and what depends on them."""
    chosen = choose("the stream")
    left, right = st.columns([3, 2], gap="large")
    with left:
        curve(p, chosen)
    with right:
        try:
            shown = views.next_token(*chosen)
        except ValueError as problem:
            st.info(f"No answer: {text.escape(str(problem), text.MESSAGE)}.")
            return
        p.show(shown)
        answer = shown.result
        st.metric(f"Probability of {text.escape(text.visible(answer.token))}", f"{answer.probability:.1%}")
    st.caption(f"The prompt, {answer.length} tokens:")
    st.code(answer.text, language=None, height=min(TALLEST, ROOM + LINE * (answer.text.count("\n") + 1)))


def curve(p: Panel, chosen: ChosenPrompt) -> None:
    """Show the accuracy that was measured, where one was."""
    model, task, labels, count, _ = chosen
    if (model, task) in kept():
        p.show(views.by_examples(model, task, labels, count))
        return
    there = " and ".join(sorted({one for one, what in kept() if what == task}))
    st.info(
        f"The accuracy of {text.escape(model, text.NAME)} on {NAMES[task]} has not been measured: it takes "
        f"minutes, and was measured once, for {there}. The answer beside it is this model's."
    )
