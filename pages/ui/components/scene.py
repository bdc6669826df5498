"""Draws every scene of tfcore (tfcore/charts/scenes) in the app: in the colours of the theme, with clicks told.

See scene.js for the browser's half.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import streamlit as st

from pages.ui import embedding, keys, links
from pages.ui.components import assets
from tfcore.views.view import Scene, View

LONGEST = 2_100  # characters of what is told: all heads of a model that are changed, say
_component = assets.component("tf_scene", "scene.js")


class Told(NamedTuple):
    """An event of a scene: its name, and what the scene says of it."""

    name: str
    value: int | str | dict[str, Any]


def scene(
    chart: Scene,
    *,
    key: str,
    alt: str,
    caption: str = "",
    about: Mapping[str, Any] | None = None,
    on_told: Callable[[Told], None] | None = None,
) -> Told | None:
    """Show a scene.

    Args:
        key: names it on its page; other data under the same key redraw in place.
        alt: the finding in words, for who cannot see the picture.
        caption: shown below as plain text.
        about: what a saved picture says besides, as `frame.about` has it.
        on_told: a callback with what was clicked or moved; it may call `controls.set_values`.

    Returns:
        What was clicked since the last run; anyone can send anything, so its place is still to be checked.
    """
    state = keys.own("scene", key)

    def heard() -> None:
        told = _told(st.session_state.get(state))
        if told is not None and on_told is not None:
            on_told(told)

    data = {
        "module": chart.module,
        "data": dict(chart.data),
        "height": chart.height,
        "caption": caption,
        "head": {
            "key": key,
            "v": links.VERSION,
            "alt": alt,
            "alone": embedding.is_alone(key),
            "open": embedding.is_allowed(),
            **(about or {}),
        },
    }
    with embedding.box(key):
        event: Any = _component(key=state, data=data, on_told_change=heard)
    return _told(event)


def adding(view: View, **data: Any) -> View:
    """A view whose scene also gets what the app alone knows, such as where a click leads.

    Raises:
        TypeError: its chart is no scene.
    """
    if not isinstance(view.chart, Scene):
        raise TypeError(f"the chart of the view {view.key!r} is no scene")
    return replace(view, chart=replace(view.chart, data={**view.chart.data, **data}))


def _told(events: object) -> Told | None:
    """The event of a scene; None where it is none."""
    match events:
        case {"told": [str(name), int(value) | str(value) | dict(value)]}:
            if not isinstance(value, bool) and len(str(value)) <= LONGEST:
                return Told(name, value)
    return None
