"""The front page's map: the model of the river, every part a link to the page about it."""

import streamlit as st

from pages.ui import cache, links, places
from pages.ui.components import parts_map
from pages.ui.loading import model_map
from tfcore.analysis.start.walk_costs import model_size


def show(name: str) -> None:
    """The map of a model."""
    config = cache.model(name)[0].config

    def go(url: str) -> None:
        links.go(places.place(url).file, {"model": name} if url == "heads" else {})

    label = f"{name}, part by part; each part leads to its page"
    parts_map.parts_map("map", model_map.stacks(config), label=label, on_open=go)
    st.caption(f"{model_size(config, name)} Every box leads to the page about it.")
