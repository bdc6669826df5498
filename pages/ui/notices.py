"""Notices of what was corrected: shown at the top of the page until the control has another value.

Notices are written by whole runs of a page alone. A fragment that runs by itself cannot: Streamlit refuses what it
writes outside of itself, unless it wrote there in the last whole run, too. Where a fragment changes what is to be
said, `fragments.fragment` has the page run again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from pages.ui import text
from pages.ui.session import Notice, session
from tfcore.measures.one_text import End


@contextmanager
def whole_run() -> Iterator[None]:
    """Around a whole run of a page: at its end, all notices are shown, but for those of what is no longer there."""
    present = session()
    present.in_whole_run = True
    present.notices_said = set()
    present.notices_place = None
    present.notices_shown = []
    try:
        yield
    finally:
        for key in [key for key, notice in present.notices.items() if notice.each_run]:
            if key not in present.notices_said:  # such as of a text in a section that is closed now
                drop(key)
        _show()
        present.in_whole_run = False


def unsaid() -> bool:
    """Whether a fragment that ran by itself has changed what the page should say."""
    return not session().in_whole_run and session().notices_shown != sentences()


def reserve() -> None:
    """Keep a place for the notices of this page; called once, under the title. What is known already stands there."""
    session().notices_place = st.empty()
    _show()


def clear() -> None:
    """Forget every notice (another page was opened)."""
    session().notices.clear()


def add(key: str, reason: str, detail: str = "", value: Any = None) -> None:
    """Say `reason: detail` (Markdown; user text escaped) until control `key` has another value than `value`."""
    session().notices[key] = Notice(reason, detail, value)


def say(key: str, reason: str | None, detail: str = "") -> None:
    """Say `reason: detail` until a whole run does not say it again; None takes it back."""
    if reason is None:
        drop(key)
        return
    session().notices[key] = Notice(reason, detail, None, each_run=True)
    session().notices_said.add(key)


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
    notice = session().notices.get(key)
    if notice is not None and notice.value != value:
        drop(key)


def drop(key: str) -> None:
    """Take back the notice of control `key`, if there is one."""
    session().notices.pop(key, None)


def tokens(total: int, used: int, name: str = "text", which: End = "last") -> None:
    """Say that of a text's tokens only the last (or the first) are used, or take that back where all are."""
    said = f"The {name} has {total:,} tokens; the {which} {used} are used here"
    say(f"tokens of {name}", said if total > used else None)


def sentences() -> list[str]:
    """The notices of this run, one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for notice in session().notices.values():
        reasons.setdefault(notice.reason, []).append(notice.detail)
    return [f"{reason}: {', '.join(details)}." if any(details) else f"{reason}." for reason, details in reasons.items()]


def _show() -> None:
    place, said = session().notices_place, sentences()
    if said == session().notices_shown:
        return
    session().notices_shown = said
    if place is not None and said:
        place.caption(" ".join(said))
    elif place is not None:
        place.empty()


def shown(value: Any) -> str:
    """A value from outside, short and harmless inside a sentence."""
    return text.escape(value, 40) if str(value) else "(empty)"
