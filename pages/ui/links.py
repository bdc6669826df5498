"""The address of a view: when it decides, how text travels in it, and links to views.

Sliders, choices and switches are bound by Streamlit itself (`bind="query-params"`): it writes their values to the
address in the browser, without adding to the history. Text is not bound, because a bound text area would put any
length into the address before Python could say no: it is written here, plainly up to `PLAIN_CHARACTERS`, compressed
above that, and left out (with a sentence) when even that is too long for a link.
"""

import base64
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.ui import former_labels, notices, streamlit_internals
from pages.ui.session import Visit, session
from pages.ui.streamlit_internals import is_return
from tfcore.tokenizers.tokenizer import MARK
from tfcore.views.addresses import LINK_CHARACTERS as LINK_CHARACTERS
from tfcore.views.addresses import PLAIN_CHARACTERS as PLAIN_CHARACTERS
from tfcore.views.addresses import VERSION as VERSION
from tfcore.views.addresses import VERSION_KEY as VERSION_KEY
from tfcore.views.addresses import pack as pack
from tfcore.views.addresses import packed_key
from tfcore.views.addresses import special_key as special_key
from tfcore.views.addresses import text_parameters as text_parameters

# 1 knew no default that depends on the server; 2 began attributions from zero vectors, 3 the front page with `stories`;
# 4 drew the first token in every map of /induction.
KNOWN = ("1", "2", "3", "4", VERSION)
# A line of text has the kind of a choice: a model is typed on one page and chosen on the others.
Kind: TypeAlias = Literal["number", "choice", "choices", "switch", "text", "dragged"]


# --- who decides: the address or the session -------------------------------------------------------------------------


def address_decides(key: str) -> bool:
    """True when control `key` is drawn for the first time during this visit to the page, or after Back or Forward."""
    return is_return() or key not in visit().seen


def wanted(key: str, default: Any, said: Callable[[str], str | None], kind: Kind | None = None) -> tuple[Any, bool]:
    """The value that control `key` should hold, not yet validated, and whether the address said so (through `said`).

    Controls of one name keep their value from page to page, as the model does. What one of another kind held under
    that name means nothing here.

    Args:
        kind: of the control; None takes what any held.
    """
    if address_decides(key):
        asked_for = said(key)
        if asked_for is not None:
            return asked_for, True
        # Streamlit drops the parameters when Back leads to another page: the session then knows better.
        if is_return() and key in visit().seen:
            return default, False
    if kind is not None and session().kinds.get(key, kind) != kind:
        return default, False
    return st.session_state.get(key, default), False


def mark_seen(key: str, kind: Kind | None = None) -> None:
    """From now on the session decides about control `key`, until another page is opened.

    Args:
        kind: of the control that holds the value; None where it was put there for the control to come.
    """
    visit().seen.add(key)
    if kind is None:
        session().kinds.pop(key, None)
    else:
        session().kinds[key] = kind


def visit() -> Visit:
    """The present visit; a new one begins when another page is opened."""
    present = session()
    if present.visit.page != present.page:
        present.visit = Visit(present.page)
        notices.clear()
    return present.visit


def begin_as_said() -> None:
    """Let all controls forget what they hold, but for what the address says: a view that somebody else has kept leaves
    out what was at its default."""
    for key in session().kinds:
        if key not in st.query_params and key in st.session_state:
            del st.session_state[key]


def asked(key: str) -> str | None:
    """The value of `key` in the address; the last one counts when it says it twice."""
    values = st.query_params.get_all(key)
    return values[-1] if values else None


# --- text ------------------------------------------------------------------------------------------------------------


def unpack(packed: str, characters: int) -> str | None:
    """The text of `pack`, at most about `characters` of it; None if damaged. Never unpacks more memory than that."""
    # One character beyond the limit is let through, so that the caller notices and says that it was cut.
    limit = 4 * (characters + 1)
    stream = zlib.decompressobj()
    try:
        compressed = base64.urlsafe_b64decode(packed.encode("ascii") + b"=" * (-len(packed) % 4))
        raw = stream.decompress(compressed, limit)
    except (ValueError, zlib.error):  # ValueError: not ASCII, or not base64
        return None
    complete = stream.eof or len(raw) == limit
    return raw.decode("utf-8", "replace") if complete else None


def text_from_address(key: str, characters: int) -> str | None:
    """The text the address asks for, or None if it asks for none; says so when it is damaged."""
    packed = asked(packed_key(key))
    if packed is None:
        return asked(key)
    text = unpack(packed, characters)
    if text is None:
        notices.add(f"{key} damaged", "The text in this link is damaged, so it was left out")
    return text


def example_parameters(key: str) -> list[dict[str, str]]:
    """How an address says each of the texts that buttons of this page set."""
    return [text_parameters(key, text) for text in sorted(visit().examples.get(key, ()))]


def write_text(key: str, text: str, default: str) -> None:
    """Make the address say `text`, and nothing for the default."""
    said = text_parameters(key, text)
    for name in (key, packed_key(key)):
        write(name, said.get(name) if text != default else None)
    too_long = f"{key} link"
    words = "This text is too long for a link: the address reproduces everything but the text"
    notices.say(too_long, None if said or text == default else words)


def text_names(key: str) -> tuple[str, str]:
    """The names under which an address may say the text of `key`."""
    return key, packed_key(key)


def write(key: str, value: str | None) -> None:
    """Make the address say `value` of a key that no widget of this page is bound to (None: nothing)."""
    streamlit_internals.unbind(key)
    now = st.query_params.get_all(key)
    try:
        if value is None and now:
            del st.query_params[key]
        elif value is not None and now != [value]:
            st.query_params[key] = value
    except StreamlitAPIException:
        if streamlit_internals.ADDRESS.on:  # else a control of the page before may still be bound to it
            raise


# --- links from page to page -----------------------------------------------------------------------------------------

# When a page is left, Streamlit's browser half sends what the link says after what the old page's controls say, and its
# server half drops every name that a control of the old page has, the link's too. So a link begins with its version,
# which is no control's name: what comes after it is what the link says, and is put back on arrival.


def to(file: str, view: Mapping[str, str], label: str | None = None, icon: str | None = None) -> None:
    """A link to a page of the app in this view.

    Args:
        file: of the page, beside the router.
        view: parameters of the address, as a copied link has them.
        label: words (Markdown); the page's title without.
        icon: of the Material set, such as ":material/science:".
    """
    st.page_link(file, label=label, icon=icon, query_params=_marked(view))


def go(file: str, view: Mapping[str, str]) -> None:
    """Go to a page in this view at once, from a click that Python hears of."""
    streamlit_internals.unbind(*st.query_params, *view)
    st.switch_page(file, query_params=_marked(view))


def is_old(last: str = "1") -> bool:
    """Whether the address is a link of a release with other defaults: of this version or an earlier one."""
    version = asked(VERSION_KEY)
    return version in KNOWN and KNOWN.index(version) <= KNOWN.index(last)


def _marked(view: Mapping[str, str]) -> dict[str, str]:
    said = {VERSION_KEY: VERSION}
    for key, value in view.items():
        if key != VERSION_KEY:
            said |= text_parameters(key, value) if MARK in value else {key: value}
    return said


def arrive(page: str) -> bool:
    """Make the address say all that led to this page: the link that was clicked, or the entry of the history.

    Args:
        page: its address.

    Returns:
        Whether the page was not open before.
    """
    came_from, session().page = session().page, page
    if came_from in (None, page):
        return came_from is None
    said = parse_qsl(streamlit_internals.query_string(), keep_blank_values=True)
    if not is_return():
        marks = [place for place, (key, _) in enumerate(said) if key == VERSION_KEY]
        said = said[marks[-1] :] if marks else []
    for key, value in dict(said).items():
        if key not in ("embed", "embed_options") and asked(key) != value:
            streamlit_internals.rewrite(key, value)
    return True


def rename_keys() -> None:
    """Make the address say with the keys of this release what it says with those of an earlier one."""
    for once, now in former_labels.KEYS.get(session().page or "", {}).items():
        if (said := asked(once)) is not None:
            if asked(now) is None:
                streamlit_internals.rewrite(now, said)
            streamlit_internals.rewrite(once, None)


def forget(key: str) -> None:
    """Make the address say nothing of a control yet to be drawn."""
    streamlit_internals.rewrite(key, None)


# --- the link --------------------------------------------------------------------------------------------------------


def check_version() -> None:
    """Say so when the address was made by a version of the app that this one does not know; it still works."""
    version = asked(VERSION_KEY)
    if version not in (None, *KNOWN):
        notices.add("v", f"This link has version {notices.shown(version)}; some settings may have another meaning here")
