"""The front page's map: the model of the river, every part a link to the page about it."""

import streamlit as st

from pages.ui.loading import model_map
from tfcore.views.model import parts as views


def show(name: str) -> None:
    """The map of a model."""
    model_map.show(views.parts(name), lambda key: {"model": name} if key == "heads" else {})
    st.caption("Every box leads to the page about it.")
