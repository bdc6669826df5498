"""The frame of a section: what a visitor sets, the views it shows, what to see, a question, how it is computed.

    with panel() as p:
        with p.controls:
            tokens = controls.slider("Tokens", "tokens", 1, 100, 10)
        with p.picture:
            p.show(cache_sizes(shape, tokens))
        p.examples({"many": {"tokens": 100}})
        p.what_to_see("...")
        p.question("...", "...")

Everything has its place, in whatever order it is said. The drawer follows from the views that were shown: their
formulas, code and papers, and a program that makes each of them again.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import streamlit as st

from pages.ui import fragments, lesson_card, page
from pages.ui.components.figure import Event, figure
from pages.ui.components.scene import Told, scene
from pages.ui.server import seen
from tfcore.commands import calls
from tfcore.views import programs
from tfcore.views.view import Scene, View

Words = tuple[str, str]


def about(view: View, hint: str = "") -> dict[str, Any]:
    """The words that a saved picture of a view carries beside its address, the hint that it leaves out, and the call
    that a shelf keeps of it.

    Args:
        hint: see show.
    """
    finding = str((view.findings or (view.described,))[0])
    return {"title": view.title, "finding": finding, "computed": view.computed, "hint": hint, "call": _call(view)}


def _call(view: View) -> tuple[str, dict[str, Any]] | None:
    try:
        return calls.call(view)
    except ValueError:  # made by hand: there is no program of it
        return None


def show(
    view: View,
    on_click: Callable[[Event], None] | None = None,
    hint: str = "",
    same: Hashable = None,
    on_told: Callable[[Told], None] | None = None,
    on_select: Callable[[list[Any]], None] | None = None,
) -> Told | None:
    """A view with its caption, and below it what was found, and its metrics.

    Args:
        on_click: see figure; of a scene what was clicked is returned instead.
        hint: what a click does, in words that follow the caption: it does so here alone.
        same, on_select: see figure.
        on_told: see scene.
    """
    seen.note(view)
    lesson_card.note(view)
    told, caption = None, f"{view.caption} {hint}".strip()
    if isinstance(view.chart, Scene):
        told = scene(view.chart, key=view.key, alt=view.alt, caption=caption, about=about(view, hint), on_told=on_told)
    else:
        figure(
            view.chart,
            key=view.key,
            alt=view.alt,
            height=view.height,
            caption=caption,
            about=about(view, hint),
            table=view.table,
            min_width=view.min_width,
            at=view.at,
            cursor=view.cursor,
            on_click=on_click,
            on_select=on_select,
            same=same,
        )
    if view.conclusions:
        st.markdown(f"**Found.** {' '.join(map(str, view.conclusions))}")
    if view.metrics:
        for place, one in zip(st.columns(len(view.metrics)), view.metrics, strict=True):
            place.metric(one.label, one.value, one.note, delta_color="off", delta_arrow="off", help=one.help or None)
    return told


class Panel:
    """A section while it is drawn.

    Args:
        tries: above everything, for the examples.
        controls, picture: for what is set and for what is seen.
    """

    def __init__(self, tries: Any, controls: Any, picture: Any) -> None:
        self.tries, self.controls, self.picture = tries, controls, picture
        self.views: dict[str, View] = {}  # those that were shown last, by key
        self.see = ""
        self.asked: Words | None = None

    def examples(self, examples: Mapping[str, Mapping[str, Any]]) -> None:
        """The row of things to try; see page.try_this."""
        with self.tries:
            page.try_this(examples)

    def show(
        self,
        view: View,
        on_click: Callable[[Event], None] | None = None,
        hint: str = "",
        same: Hashable = None,
        on_told: Callable[[Told], None] | None = None,
        on_select: Callable[[list[Any]], None] | None = None,
    ) -> Told | None:
        """The module's `show`; the drawer will say how this view is computed."""
        self.views[view.key] = view
        return show(view, on_click, hint, same, on_told, on_select)

    def what_to_see(self, markdown: str) -> None:
        """See page.what_to_see."""
        self.see = markdown

    def question(self, text: str, answer: str) -> None:
        """See page.question."""
        self.asked = text, answer


@contextmanager
def panel(widths: tuple[int, int] | None = (1, 3)) -> Iterator[Panel]:
    """A section. A `return` within ends it, and nothing more is said of it. Where views are still to come, as while a
    training is waited for, what to see and the question stand there before them.

    Args:
        widths: of the controls and of the pictures beside them, as shares; None puts the controls above, in a row.
    """
    tries = st.container()
    if widths is None:
        controls = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
        picture = st.container()
    else:
        controls, picture = st.columns(widths, gap="medium")
    made = Panel(tries, controls, picture)
    yield made
    if made.see:
        page.what_to_see(made.see)
    if made.asked:
        page.question(*made.asked)
    if made.views:
        _drawer(made.views)


@fragments.fragment
def _drawer(views: Mapping[str, View]) -> None:
    """How the views of a section are computed."""
    shown = list(views.values())
    formula = next((view.formula for view in shown if view.formula), "")
    papers = list(dict.fromkeys(view.papers for view in shown if view.papers))
    terms = list(dict.fromkeys(one for view in shown for one in view.terms))
    code = list(dict.fromkeys(one for view in shown for one in view.code))
    saved = [_downloads(views, view.key, page.THIS if len(shown) == 1 else view.title) for view in shown]
    page.drawer(programs.name_of(shown[0]), formula, code, saved, "\n\n".join(papers), terms)


def _downloads(views: Mapping[str, View], key: str, what: str) -> page.Downloads:
    forms = {"py": programs.script, "ipynb": programs.notebook}
    written = {ending: partial(_written, write, views, key) for ending, write in forms.items()}
    names = [programs.name_of(view) for view in views.values()]
    name = programs.name_of(views[key])
    return page.Downloads(what, name if names.count(name) == 1 else f"{name}-{key}".replace(" ", "-"), written)


def _written(write: Callable[[programs.Program], str], views: Mapping[str, View], key: str) -> bytes:
    """The program of what is shown when it is asked for: a part of the section may have run again by itself."""
    return write(programs.program(views[key])).encode()
