"""Quiet notices: what was corrected, said once at the top of the page and gone when the control moves on.

Notices are written by whole runs of a page alone. A fragment that runs by itself cannot: Streamlit refuses what it
writes outside of itself, unless it wrote there in the last whole run, too. Where a fragment changes what is to be
said, `fragments.fragment` has the page run again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import streamlit as st

from pages.ui import text

_NOTICES = "_ui_notices"  # control key -> Notice, for this visitor
_WHOLE = "_ui_whole_run"  # there while the whole page runs
_PLACE = "_ui_notice_place"  # the empty element under the title
_SHOWN = "_ui_notices_shown"  # the sentences that stand there


@contextmanager
def whole_run() -> Iterator[None]:
    """Around a whole run of a page: at its end, all notices are shown."""
    st.session_state[_WHOLE], st.session_state[_PLACE], st.session_state[_SHOWN] = True, None, []
    try:
        yield
    finally:
        _show()
        del st.session_state[_WHOLE]


def unsaid() -> bool:
    """Whether a fragment that ran by itself has changed what the page should say."""
    return _WHOLE not in st.session_state and st.session_state.get(_SHOWN, []) != sentences()


class Notice(NamedTuple):
    """Something to say about a control, for as long as the control keeps the value it was given.

    Details with the same reason become one sentence: "Corrected from the link: head 99 → 7, layer x → 0."
    """

    reason: str
    detail: str
    value: Any


def reserve() -> None:
    """Keep a place for the notices of this page; called once, under the title. What is known already stands there."""
    st.session_state[_PLACE] = st.empty()
    _show()


def clear() -> None:
    """Forget every notice (another page was opened)."""
    st.session_state.pop(_NOTICES, None)


def add(key: str, reason: str, detail: str = "", value: Any = None) -> None:
    """Say `reason: detail` (Markdown; user text escaped) until control `key` has another value than `value`."""
    st.session_state.setdefault(_NOTICES, {})[key] = Notice(reason, detail, value)


def corrected(key: str, asked: Any, said: Any, value: Any, *, from_link: bool) -> None:
    """Say that control `key` shows something else than what was asked of it, until it has another value.

    Args:
        asked, said: what was asked, and how the value that is shown reads.
        value: what is shown.
        from_link: whether the address asked it.
    """
    reason = "Corrected from the link" if from_link else "Adjusted to what is possible"
    add(key, reason, f"{key} {shown(asked)} → {shown(said)}", value)


def keep(key: str, value: Any) -> None:
    """Drop the notice of control `key` if its value is no longer the one the notice speaks of."""
    notice = st.session_state.get(_NOTICES, {}).get(key)
    if notice is not None and notice.value != value:
        drop(key)


def drop(key: str) -> None:
    """Take back the notice of control `key`, if there is one."""
    st.session_state.get(_NOTICES, {}).pop(key, None)


def tokens(total: int, used: int, name: str = "text", which: str = "first") -> None:
    """Say that of a text's tokens only the first (or the last) are used, or take that back where all are."""
    if total > used:
        add(f"tokens of {name}", f"The {name} has {total:,} tokens; the {which} {used} are used here")
    else:
        drop(f"tokens of {name}")


def sentences() -> list[str]:
    """What is said now, one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for notice in st.session_state.get(_NOTICES, {}).values():
        reasons.setdefault(notice.reason, []).append(notice.detail)
    return [f"{reason}: {', '.join(details)}." if any(details) else f"{reason}." for reason, details in reasons.items()]


def _show() -> None:
    place, said = st.session_state.get(_PLACE), sentences()
    if said == st.session_state.get(_SHOWN, []):
        return
    st.session_state[_SHOWN] = said
    if place is not None and said:
        place.caption(" ".join(said))
    elif place is not None:
        place.empty()


def shown(value: Any) -> str:
    """A value from outside, short and harmless inside a sentence."""
    return text.escape(value, 40) if str(value) else "(empty)"
