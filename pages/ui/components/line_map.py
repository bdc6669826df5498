"""A map of stops on a line, with branches that rejoin it; a click goes to a stop.

See line_map.js for the browser's half. Stops can be clicked, and reached with Tab and the arrow keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from pages.ui import keys
from pages.ui.components import assets
from pages.ui.components.player import target

_component = assets.component("tf_line_map", "line_map.js")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One place on the map.

    Args:
        label: a word or two.
        title: what it is, for the tooltip and for screen readers.
        role: its colour role.
        beside: on a branch, not on the main line.
        branch: colour role of the branch it is on.
        carried: the main line carries the residual stream from here on.
        under: its label stands under the line.
    """

    label: str
    title: str
    role: str
    beside: bool = False
    branch: str = ""
    carried: bool = False
    under: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Stops from `first` to `last` that belong together, and the words under them."""

    first: int
    last: int
    title: str
    role: str


def line_map(
    key: str, stops: Sequence[Stop], areas: Sequence[Area], value: int, *, label: str, on_go: Callable[[int], None]
) -> None:
    """Draw the map.

    Args:
        value: index of the stop where we are.
        label: what the map shows, for screen readers.
        on_go: a callback with the index of the stop that was chosen; it may call `controls.set_values`.
    """

    state = keys.own("line_map", key)

    def chosen() -> None:
        if (to := target(st.session_state.get(state), 0, len(stops) - 1)) is not None:
            on_go(to)

    _component(
        key=state,
        data={
            "stops": [asdict(stop) for stop in stops],
            "parts": [asdict(area) for area in areas],
            "value": value,
            "label": label,
        },
        on_to_change=chosen,
    )
