"""The parts that pages are made of, in their order: claim, things to try, what to see, question, how it is computed."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

import streamlit as st

from pages.facts import Facts
from pages.ui import controls, exercise_links, fragments, keys, links, notices
from pages.ui.server import view_menu
from pages.ui.session import session

GLOSSARY = "reference/glossary/page.py"
THIS = "This experiment"
SEE = "What to see."  # what the words beside a figure begin with
OPEN = False  # whether drawers begin open
ROW, BUTTON, LETTER = 900, 42, 7  # pixels: of a row of examples, of a button without its words, of a letter
LABELS = {"py": "{} as a Python script", "ipynb": "as a notebook"}  # of a program, by the ending of its file


def begin(facts: Facts, always: Mapping[str, str] | None = None) -> None:
    """The question with the copy-link button, the claim, and the place for notices.

    Args:
        always: defaults that are this server's alone, which a copied link says; see view_menu.show.
    """
    with st.container(horizontal=True, wrap=False, vertical_alignment="center"):
        st.title(facts.question, anchor=False)
        view_menu.show(always)
    st.markdown(facts.claim)
    links.visit().always = dict(always or {})  # before any notice: a new visit begins without the old ones
    links.visit().offered = {}
    notices.reserve()
    links.check_version()
    links.rename_keys()
    controls.begin_run()


def try_this(examples: Mapping[str, Mapping[str, Any]], label: str = "Try this", taken: int = 0) -> None:
    """A row of buttons, each of which sets several controls at once: `{"pronoun": {"text": "...", "head": 5}}`.

    Args:
        taken: pixels of the row in which something else stands.
    """
    for values in examples.values():
        for name, value in values.items():
            if isinstance(value, str):
                links.visit().examples.setdefault(name, set()).add(value)
    links.visit().offered |= examples
    shown = _fitting(list(examples), ROW - taken)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f"{label}:", width="content")
        for name in shown:
            _example(name, examples[name])
        if len(shown) < len(examples):
            with st.popover("More", type="tertiary"):
                for name in list(examples)[len(shown) :]:
                    _example(name, examples[name])


def _fitting(names: list[str], row: int) -> list[str]:
    """As many names as fit into one row of so many pixels."""
    ends = list(accumulate(BUTTON + LETTER * len(name) for name in names))
    if ends[-1] <= row:
        return names
    return [name for name, end in zip(names, ends, strict=True) if end <= row - BUTTON]


def _example(name: str, values: Mapping[str, Any]) -> None:
    st.button(name, key=keys.own("button", f"try {name}"), on_click=controls.set_values, kwargs=dict(values))


def more_settings() -> Any:
    """The container of the controls that are not always in sight; one a section."""
    return st.popover("More settings")


def what_to_see(markdown: str) -> None:
    """Explain what the figure shows, for a person who looks at it for the first time."""
    st.markdown(f"**{SEE}** {markdown}")


def question(text: str, answer: str) -> None:
    """A question that the figure answers; the answer is one click away."""
    with st.container(border=True):
        st.markdown(f"**A question.** {text}")
        with st.expander("Answer"):
            st.markdown(answer)


@fragments.fragment
def how_it_is_computed(code: Sequence[Callable[..., Any] | type]) -> None:
    """The drawer of a section that shows no view of its own: the functions and classes of tfcore behind it."""
    drawer(code[0].__qualname__, None, code, (), None)


class Downloads(NamedTuple):
    """A program to be saved in several forms.

    Args:
        what: it makes, as in "The left picture".
        name: of its files.
        written: the ending of a file -> what writes its contents, once it is asked for.
    """

    what: str
    name: str
    written: Mapping[str, Callable[[], bytes]]


def drawer(
    name: str,
    formula: str | None,
    code: Sequence[Callable[..., Any] | type],
    programs: Sequence[Downloads],
    papers: str | None,
    terms: Sequence[str] = (),
) -> None:
    """The drawer as it is now, with a tab for each of these that there is.

    Empty until it is opened: what shows code and formulas are large scripts, which the figures need not wait for.

    Args:
        name: tells the drawers of a page apart.
    """
    tabs: dict[str, Callable[[], Any]] = {}
    if formula:
        tabs["Formula"] = partial(st.latex, formula)
    if code:
        tabs["Code"] = partial(_sources, code)
    if programs:
        tabs["Script and notebook"] = partial(_programs, programs)
    if papers or terms:
        tabs["Papers" if not terms else "Papers and terms" if papers else "Terms"] = partial(_papers, papers, terms)
    drawn = st.expander("How it is computed", OPEN, key=keys.own("expander", f"computed {name}"), on_change="rerun")
    if drawn.open:
        if own := exercise_links.of_page(session().page or ""):
            tabs["Exercise"] = partial(exercise_links.to_exercises, own)
        with drawn:
            for tab, draw in zip(st.tabs(list(tabs)), tabs.values(), strict=True):
                with tab:
                    draw()


def _sources(code: Sequence[Callable[..., Any] | type]) -> None:
    for one in map(inspect.unwrap, code):
        st.caption(f"`{one.__module__}.{one.__qualname__}`")
        st.code(_code(one), language="python")


def _programs(programs: Sequence[Downloads]) -> None:
    for one in programs:
        with st.container(horizontal=True):
            for ending, write in one.written.items():
                st.download_button(
                    LABELS[ending].format(one.what),
                    write,
                    f"{one.name}.{ending}",
                    key=keys.own("download_button", f"{one.name}.{ending}"),
                    on_click="ignore",
                    type="tertiary",
                )


def _papers(papers: str | None, terms: Sequence[str]) -> None:
    if papers:
        st.markdown(papers)
    if terms:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("In the glossary:", width="content")
            for name in terms:
                links.to(GLOSSARY, {"term": name}, name)


@lru_cache(maxsize=512)
def _code(thing: Callable[..., Any] | type) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # built in, or made at run time
        return f"# {thing!r} has no Python source"
