"""The front page's map: the model of the river, every part a link to the page about it."""

import streamlit as st

from pages.ui import frame, links, places
from tfcore.views.model import parts as views


def show(name: str) -> None:
    """The map of a model."""
    shown = views.parts(name)
    told = frame.show(shown)
    if told is not None and isinstance(told.value, int) and (url := views.url_of(shown.result, told.value)):
        links.go(places.place(url).file, {"model": name} if url == "heads" else {})
    st.caption("Every box leads to the page about it.")
