"""Shared by components whose parts are dragged: their value in the address, and their messages.

Python computes while a part moves. The browser has one request on the way at most and sends the last position in the
end; only that one becomes part of the address. See dragging.js for the browser's half.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st

from pages.ui import controls, links, notices
from pages.ui.session import session

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
        session().dragged.discard(key)
    asked, from_link = links.wanted(key, written(default), links.asked, "dragged")
    parsed, exact = parse(asked)
    value = written(parsed)
    notices.keep(key, value)
    if not exact:
        notices.corrected(key, asked, value, value, from_link=from_link)
    st.session_state[key] = value
    if key not in session().dragged:
        links.write_text(key, value, written(default))
    links.mark_seen(key, "dragged")
    return parsed


def event(state: str) -> object:
    """The `moved` event of a component, read in its callback."""
    events = st.session_state.get(state)
    return events.get("moved") if isinstance(events, Mapping) else None


def heard(key: str, said: object) -> Mapping[str, Any] | None:
    """A `moved` event that sets control `key`; None where it is invalid."""
    if not isinstance(said, Mapping):
        return None
    (session().dragged.discard if said.get("final") is True else session().dragged.add)(key)
    session().answered[key] = whole(said.get("seq"), 10**9) or 0
    return said


def take(key: str, value: str) -> None:
    """Set control `key` to what was moved."""
    controls.set_values(**{key: value})


def answered(key: str) -> int:
    """The number of the last message that the value shown of control `key` belongs to."""
    return session().answered.get(key, 0)


def whole(value: object, largest: int) -> int | None:
    """A whole number from the browser in 0 .. largest, or None."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= largest else None
