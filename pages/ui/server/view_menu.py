"""The tools beside the title of every page: a button that copies the address of the view, and a menu.

The menu puts the page's settings back to their defaults, and copies a report of the view. An address carries what was
typed, and is kept in logs and histories: where a text is the visitor's own, the button says so and offers the address
without it.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.ui import keys, links, streamlit_internals
from pages.ui.components import assets
from pages.ui.session import Visit, session
from tfcore import __version__

_MENU = assets.inline("copy_link", "copy_link")
_TOLD = assets.inline("view_told", "view_told")


def show(always: Mapping[str, str] | None = None) -> None:
    """The button and the menu.

    Args:
        always: defaults of this server alone, by key: an address leaves defaults out, and the link says them.
    """
    _MENU(
        key=keys.own("copy_link", "copy_link"),
        data={
            "version": links.VERSION,
            "always": dict(always or {}),
            "app": f"{__version__}, Streamlit {streamlit_internals.VERSION}",
        },
        width="content",
        on_anew_change=begin_anew,
    )


def begin_anew() -> None:
    """Callback: every control of this page holds what it begins with, and the address says nothing.

    What a control holds belongs to its name on all pages, so pages opened later begin anew with these, too.
    """
    for name in list(st.query_params):
        streamlit_internals.rewrite(name, None)
    for name in session().visit.seen:
        if name in st.session_state:
            del st.session_state[name]
    session().visit = Visit(session().visit.page)
    session().notices.clear()


def tell() -> None:
    """Tell the button, at the end of a run, what is known then: which names of the address carry texts on this page,
    which texts are examples of it, and the model."""
    visit = links.visit()
    examples: list[Any] = [
        said for name in sorted(visit.texts) for one in links.example_parameters(name) for said in one.items()
    ]
    names = [said for name in sorted(visit.texts) for said in links.text_names(name)]
    model = str(st.session_state.get("model")) if "model" in visit.seen else None
    _TOLD(key=keys.own("view_told", "view_told"), data={"names": names, "examples": examples, "model": model}, height=1)
