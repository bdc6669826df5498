"""The last view of each page that a visitor was on, for links on the front page."""

from collections.abc import Mapping

import streamlit as st

from pages.ui import links, places
from pages.ui.session import session

MOST = 4
PRESENT = "present"  # what the address says while a page is presented (shortcuts.js)


def note(url: str, view: Mapping[str, str]) -> None:
    """Remember a page with its view, the newest last; the front page itself is not remembered.

    Args:
        url: address of the page.
        view: what the address says besides.
    """
    if not url:
        return
    views = session().recent
    views.pop(url, None)
    views[url] = {key: value for key, value in view.items() if key != PRESENT}
    while len(views) > MOST:
        del views[next(iter(views))]


def show() -> None:
    """Links to the views, the newest first; nothing where there are none."""
    views = session().recent
    if not views:
        return
    with st.container(border=True, gap="xsmall"):
        st.markdown("**Where you were**")
        for url, view in reversed(views.items()):
            if (place := places.known(url)) is not None:
                links.to(place.file, view, place.facts.title, ":material/history:")
