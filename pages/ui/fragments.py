"""Parts of a page that run by themselves when a control inside them moves, and the end of a run before its end."""

from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

import streamlit as st

from pages.ui import lesson_card, notices, streamlit_internals

P = ParamSpec("P")


def fragment(function: Callable[P, None], run_every: float | None = None) -> Callable[P, None]:
    """`st.fragment`, after which the whole page runs again if the notices at its top, or the answer of a lesson, have
    changed.

    Args:
        run_every: seconds after which it runs by itself, again and again.
    """

    @wraps(function)
    def part(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        finally:  # also after st.stop
            if notices.unsaid() or lesson_card.is_outdated():
                st.rerun()

    part_of_page: Callable[P, None] = st.fragment(part, run_every=run_every)
    return part_of_page


def stop() -> NoReturn:
    """End the run here. Unlike after `st.stop`, the page can still write its notices."""
    streamlit_internals.stop()
    st.stop()
