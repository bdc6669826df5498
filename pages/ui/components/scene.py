"""Draws every scene of tfcore (tfcore/charts/scenes) in the app: in the colours of the theme, with clicks told.

See scene.js for the browser's half.
"""

from typing import Any, NamedTuple

import streamlit as st

from pages.ui import embedding, keys
from pages.ui.components import assets
from tfcore.views.view import Scene

LONGEST = 500  # characters of a text that is told
_component = assets.component("tf_scene", "scene.js")


class Told(NamedTuple):
    """An event of a scene: its name, and what the scene says of it."""

    name: str
    value: int | str


def scene(chart: Scene, *, key: str, alt: str, caption: str = "") -> Told | None:
    """Show a scene.

    Args:
        key: names it on its page; other data under the same key redraw in place.
        alt: the finding in words, for who cannot see the picture.
        caption: shown below.

    Returns:
        What was clicked since the last run; anyone can send anything, so its place is still to be checked.
    """
    data = {"module": chart.module, "data": dict(chart.data), "height": chart.height, "alt": alt}
    with embedding.box(key):
        found: Any = _component(key=keys.own("scene", key), data=data, on_told_change=lambda: None)
        if caption:
            st.caption(caption)
    match found.get("told"):
        case [str(name), int(value) | str(value)] if not isinstance(value, bool) and len(str(value)) <= LONGEST:
            return Told(name, value)
    return None
