"""All pages with their files, titles and addresses, as the router announces them; for links between pages."""

from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from typing import NamedTuple

import streamlit as st

from pages.ui import links


class Place(NamedTuple):
    """A page: its file, title, address and chapter."""

    file: str
    title: str
    url: str
    chapter: str


_PLACES: dict[str, Place] = {}


@cache
def _entry(file: str, title: str, icon: str, url: str) -> st.Page:
    return st.Page(file, title=title, icon=f":material/{icon}:", url_path=url or None, default=not url)


def entry(*page: str) -> st.Page:
    """One entry of the navigation; the page with the empty path is the front page. A copy for each run, which marks it:
    to make 38 anew, each looking for its file, takes a tenth of a run."""
    return copy(_entry(*page))


def announce(chapters: Mapping[str, Iterable[tuple[str, str, str, str]]]) -> None:
    """Say which pages there are: chapter -> (file, title, icon, address)."""
    found = {url: Place(file, title, url, name) for name, pages in chapters.items() for file, title, _, url in pages}
    if found != _PLACES:
        _PLACES.clear()
        _PLACES.update(found)


def known(url: str) -> Place | None:
    """The page at this address, if there is one."""
    return _PLACES.get(url)


def place(url: str) -> Place:
    """The page at this address; the front page where there is none."""
    return _PLACES.get(url, _PLACES[""])


def chapter(name: str) -> list[Place]:
    """The pages of a chapter."""
    return [one for one in _PLACES.values() if one.chapter == name]


def link(url: str, view: Mapping[str, str], words: str) -> None:
    """A link to a page in this view, with words (Markdown) under it."""
    found = place(url)
    links.to(found.file, view, f"**{found.title}**", ":material/science:")
    st.caption(words)
