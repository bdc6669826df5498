"""Exercises: what is asked, hints in steps, a solution, and the notebook in which it is written."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from pages.start.exercises.facts import FACTS
from pages.ui import controls, exercise_links, keys, page, text
from pages.ui.frame import panel
from tfcore import exercises
from tfcore.exercises import EXERCISES, Exercise
from tfcore.exercises.exercise import source
from tfcore.exercises.notebook import file_name, notebook

NAMES = {key: one.title for key, one in EXERCISES.items()}
TRY: Mapping[str, Mapping[str, str]] = {
    "the first one": {"exercise": "attention"},
    "causal mask": {"exercise": "causal_weights"},
    "RoPE": {"exercise": "add_positions"},
    "BPE": {"exercise": "merge"},
    "KV cache": {"exercise": "cached_attention"},
    "induction score": {"exercise": "induction_score"},
    "logit lens": {"exercise": "logit_lens"},
    "LoRA": {"exercise": "lora"},
}


def task(key: str, one: Exercise) -> None:
    """The notebook in which a function is written, and the page that it belongs to."""
    number = list(EXERCISES).index(key) + 1
    st.download_button(
        "Notebook",
        lambda: notebook(number, one).encode(),
        file_name(number, one),
        "application/x-ipynb+json",
        key=keys.own("download_button", "exercise"),
        on_click="ignore",
        icon=":material/download:",
    )
    exercise_links.to_page(one.page)


def steps(one: Exercise) -> None:
    """The signature, what is checked, hints one by one, the usual mistakes, and the solution."""
    st.code(one.stub, language="python", wrap_lines=True)
    folded = {f"Hint {i}": partial(st.markdown, hint) for i, hint in enumerate(one.hints, 1)}
    claims = "\n".join(f"- {text.escape(claimed.claim)}" for claimed in one.properties)
    with st.expander("What must be true of it", key=keys.own("expander", "properties")):
        st.markdown(claims)
    for name, draw in folded.items():
        with st.expander(name, key=keys.own("expander", name)):
            draw()
    with st.expander("Solution", key=keys.own("expander", "solution")):
        st.code(source(one.solution), language="python", wrap_lines=True)
    with st.expander("Usual mistakes, and what the check says", key=keys.own("expander", "mistakes")):
        for wrong in one.mistakes:
            st.markdown(text.escape(wrong.asks))
            st.code(source(wrong.function), language="python", wrap_lines=True)


def table() -> str:
    """All exercises (Markdown)."""
    rows = ["| | exercise | function | what is asked | page |", "|---|---|---|---|---|"]
    for i, (key, one) in enumerate(EXERCISES.items(), 1):
        place = exercise_links.parts(one.page)[0]
        link = f"[{place.facts.title}]({exercise_links.address(one.page)})"
        rows.append(f"| {i} | {one.title} | `{key}` | {text.escape(one.asks)} | {link} |")
    return "\n".join(rows)


page.begin(FACTS)
with panel(None) as p:
    p.examples(TRY)
    with p.controls:
        chosen = controls.select("Exercise", "exercise", list(EXERCISES), "attention", NAMES)
        task(chosen, EXERCISES[chosen])
    with p.picture:
        st.markdown(f"**{text.escape(EXERCISES[chosen].asks)}** {text.escape(EXERCISES[chosen].papers)}")
        p.show(exercises.picture(chosen))
        page.what_to_see(
            "The figure of the page, drawn from the solution. In the notebook it is drawn from the function that you "
            "write there, right or wrong: a mask that is off by one shows."
        )
        steps(EXERCISES[chosen])
    p.question(
        "A check compares with the numbers of `tfcore`. Why does it also try properties, such as that rows sum to 1?",
        "A wrong number says that something is wrong, and a property says what: rows that do not sum to 1 are a "
        "softmax over another axis, or a mask that came after it.",
    )
with st.expander("All seventeen", key=keys.own("expander", "all")):
    st.markdown(table())
