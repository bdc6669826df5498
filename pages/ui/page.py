"""The parts that pages are made of: claim, equation, things to try, what to see, source, program, question."""

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from pages.ui import controls, links, notices, program

GLOSSARY = "reference/glossary/page.py"
PROGRAMS = {"py": ("{} as a Python script", program.script), "ipynb": ("as a notebook", program.notebook)}


def begin(title: str, claim: str, equation: str | None = None, always: Mapping[str, str] | None = None) -> None:
    """Title with the copy-link button, the claim in one sentence, the equation (LaTeX), and the place for notices.

    Args:
        always: defaults that are this server's alone, which a copied link says; see links.copy_link.
    """
    with st.container(horizontal=True, wrap=False, vertical_alignment="center"):
        st.title(title, anchor=False)
        links.copy_link(always)
    st.markdown(claim)
    if equation is not None:
        st.latex(equation)
    links.visit()  # before any notice: a new visit begins without the old ones
    notices.reserve()
    links.check_version()


def try_this(examples: Mapping[str, Mapping[str, Any]], label: str = "Try this") -> None:
    """A row of buttons, each of which sets several controls at once: `{"pronoun": {"text": "...", "head": 5}}`."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"{label}:", width="content")
        for name, values in examples.items():
            st.button(name, key=f"try {name}", on_click=controls.set_values, kwargs=dict(values))


def what_to_see(markdown: str) -> None:
    """What the figure shows, for a person who looks at it for the first time."""
    st.markdown(f"**What to see.** {markdown}")


def terms(*names: str) -> None:
    """Links from terms that a page uses to the glossary, which says what they mean."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("In the glossary:", width="content")
        for name in names:
            links.to(GLOSSARY, {"term": name}, name)


def source(function: Callable[..., Any] | type, *more: Callable[..., Any] | type) -> None:
    """The very code that computed the figure."""
    for one in (function, *more):
        one = inspect.unwrap(one)
        with st.expander(f"The code that computed it: `{one.__module__}.{one.__qualname__}`"):
            st.code(_code(one), language="python")


@lru_cache(maxsize=512)
def _code(thing: Callable[..., Any] | type) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # built in, or made at run time
        return f"# {thing!r} has no Python source"


def experiment(function: Callable[..., Any], *args: Any, **values: Any) -> None:
    """Offer what the page has just computed as a program to run oneself; it is written only when it is asked for."""
    experiment_of("This experiment", function, *args, **values)


def experiment_of(what: str, function: Callable[..., Any], *args: Any, **values: Any) -> None:
    """The same where a page offers several side by side.

    Args:
        what: is made, as in "The left picture".
        function: of the page's `experiments.py`; with these values the page itself called it for one of its figures.
        args, values: as it was called; what the page keeps (see cache.py) is given as `program.made` says it, and a
            model as its name.
    """
    given = program.bound(function, *args, **values)
    name = f"{function.__module__.split('.')[-2]}-{function.__name__}".replace("_", "-")
    with st.container(horizontal=True):
        for ending, (label, write) in PROGRAMS.items():
            st.download_button(
                label.format(what),
                partial(_written, write, function, given),
                f"{name}.{ending}",
                key=f"{name}.{ending}",
                on_click="ignore",
                type="tertiary",
            )


def _written(write: Callable[[program.Program], str], function: Callable[..., Any], given: Mapping[str, Any]) -> bytes:
    return write(program.program(function, given)).encode()


def question(text: str, answer: str) -> None:
    """A question that the figure answers; the answer is one click away."""
    with st.container(border=True):
        st.markdown(f"**A question.** {text}")
        with st.expander("Answer"):
            st.markdown(answer)
