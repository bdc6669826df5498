"""What the components whose parts are dragged share: the address of what is dragged, and what the browser says of it.

Python computes while a part moves. The browser has one request on the way at most and sends the last position in the
end; only that one becomes part of the address. See dragging.js for the browser's half.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st

from pages.ui import controls, links, notices

Value = TypeVar("Value")


def read(
    key: str, default: Value, parse: Callable[[object], tuple[Value, bool]], written: Callable[[Value], str]
) -> Value:
    """The value of control `key`, from the address or the session, as valid as `parse` makes it.

    Args:
        parse: any object -> the nearest valid value, and whether it was valid. What was not, the page says.
        written: how the address says a value; the default is not said.
    """
    if links.address_decides(key):  # whoever left in the middle of a drag begins anew
        st.session_state.pop(_held(key), None)
    asked, from_link = links.wanted(key, written(default), links.asked)
    found, exact = parse(asked)
    value = written(found)
    notices.keep(key, value)
    if not exact:
        notices.corrected(key, asked, value, value, from_link=from_link)
    st.session_state[key] = value
    if not st.session_state.get(_held(key)):
        links.write_text(key, value, written(default))
    links.mark_seen(key)
    return found


def heard(key: str, state: str) -> Mapping[str, Any] | None:
    """What the component of this state says was moved, in its callback; None when it says nothing of use."""
    event = st.session_state.get(state)
    said = event.get("moved") if isinstance(event, Mapping) else None
    if not isinstance(said, Mapping):
        return None
    st.session_state[_held(key)] = said.get("final") is not True
    st.session_state[f"{state}:seq"] = whole(said.get("seq"), 10**9) or 0
    return said


def take(key: str, value: str) -> None:
    """Put what was moved into control `key`."""
    controls.set_values(**{key: value})


def answered(state: str) -> int:
    """The number of the last message of the component that the values shown belong to."""
    return int(st.session_state.get(f"{state}:seq", 0))


def whole(value: object, largest: int) -> int | None:
    """A whole number from the browser in 0 .. largest, or None."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= largest else None


def _held(key: str) -> str:
    """Where the session notes that something is being dragged, so that the address does not follow yet."""
    return f"{key}:held"
