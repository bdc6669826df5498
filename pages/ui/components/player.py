"""Back, play and forward for a slider: an animation in which every picture is computed when it is shown."""

from collections.abc import Hashable, Mapping, Sequence

import streamlit as st

from pages.ui import controls, keys
from pages.ui.components import assets

# Tried instead of this component: `st.fragment(run_every=...)` that moves the slider and has the page run again. Each
# step then takes two runs, the fragment's and the page's, and the clock does not wait for the picture: on a page that
# takes 0.8 s, at a period of 0.4 s, the next step began 0.1 s after a picture was sent.
# Arrow keys need a component anyway.
_PLAYER = assets.inline("player", "player")


def player(
    key: str,
    low: int,
    high: int,
    value: int,
    step: int = 1,
    *,
    label: str,
    period: float = 0.4,
    places: Sequence[Hashable] | None = None,
    everywhere: bool = False,
    speeds: bool = False,
) -> None:
    """Buttons that move the slider `key`; playing, it goes on from the highest value to the lowest.

    Args:
        low, high, value, step: of the slider.
        label: what is played, for screen readers.
        period: seconds between steps, plus what a step takes.
        places: of a slider over named places: their names; low, high and value are then places in this list.
        everywhere: the arrow keys step wherever the focus is on the page, unless it is on something that uses them.
        speeds: with a button that plays twice or half as fast.
    """
    state = keys.own("player", f"play {key}")

    def moved() -> None:
        if (to := target(st.session_state.get(state), low, high)) is not None:
            controls.set_values(**{key: to if places is None else places[to]})

    data = {
        "low": low,
        "high": high,
        "value": value,
        "step": step,
        "label": label,
        "period": round(1000 * period),
        "everywhere": everywhere,
        "speeds": speeds,
    }
    _PLAYER(key=state, data=data, on_to_change=moved, width="content")


def target(state: object, low: int, high: int) -> int | None:
    """Where a browser wants to go, or None when that is no place (anyone can send anything)."""
    to = state.get("to") if isinstance(state, Mapping) else None
    is_place = isinstance(to, int) and not isinstance(to, bool) and low <= to <= high
    return to if is_place else None
