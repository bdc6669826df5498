"""The sentence of a view, by its address, for previews of links to it: what it said when it was last shown here.

A link preview is asked for without a visitor, and nothing is computed for it. So the first view of a page leaves its
sentence where its address finds it. Nothing is left of what is a visitor's own: of their text, their file, their
model; nor of pages that train or time something, which say another number each time.
"""

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

import streamlit as st

from pages import facts
from pages.ui import links
from pages.ui.session import Visit, session
from tfcore.views.view import View

MANY = 4_000  # addresses that are remembered; the one shown longest ago goes first

Address = tuple[str, frozenset[tuple[str, str]]]
_LOCK = Lock()
_said: OrderedDict[Address, tuple[str, str]] = OrderedDict()  # key of the view, its sentence


def note(view: View) -> None:
    """Remember the sentence of a view that this run shows, unless another view was shown first at this address."""
    visit = links.visit()
    if _is_own(visit):
        return
    here = [(key, links.asked(key) or "") for key in st.query_params]
    copied = {**visit.always, **dict(here)}.items()
    with _LOCK:
        for address in {_address(visit.page or "", items) for items in (here, copied)}:
            if _said.get(address, (view.key, ""))[0] == view.key:
                _said[address] = view.key, view.preview
            _said.move_to_end(address)
        while len(_said) > MANY:
            _said.popitem(last=False)


def said(url: str, items: Iterable[tuple[str, str]]) -> str:
    """The sentences shown at this address; empty where there were none.

    Args:
        url: of the page, "" for the front page.
        items: names and values that the address says.
    """
    with _LOCK:
        return _said.get(_address(url, items), ("", ""))[1]


def _address(url: str, items: Iterable[tuple[str, str]]) -> Address:
    return url, frozenset(item for item in items if item[0] != links.VERSION_KEY)


def _is_own(visit: Visit) -> bool:
    """Whether something of this page is known to its visitor alone, or is another each time."""
    page = facts.pages().get(visit.page or "")
    if page is None or page.facts.live or visit.held or st.session_state.get("model") in session().own_models:
        return True
    for name in visit.texts:
        here = {key: said for key in links.text_names(name) if (said := links.asked(key)) is not None}
        if here and here not in links.example_parameters(name):
            return True
    return False
