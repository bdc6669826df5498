"""The pages there are, for links that are data: the router announces them, and what leads nowhere finds its nearest."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import streamlit as st

from pages.ui import links

# address of a page -> those that come nearest to it, where it is not there
NEAREST = {
    "information": ("generation",), "lab": ("pitfalls",), "scaling": ("parameters",), "routing": ("parameters",),
    "balance": ("routing", "parameters"), "architectures": ("masks",), "modern": ("parameters",),
    "history": ("parameters",), "folklore": ("parameters",), "check": ("",),
}  # fmt: skip


class Place(NamedTuple):
    """A page: its file, title, address and chapter."""

    file: str
    title: str
    url: str
    chapter: str


_PLACES: dict[str, Place] = {}


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
    """The page at this address, or the one that comes nearest; the front page at last."""
    for candidate in (url, *NEAREST.get(url, ())):
        if candidate in _PLACES:
            return _PLACES[candidate]
    return _PLACES[""]


def chapter(name: str) -> list[Place]:
    """The pages of a chapter."""
    return [one for one in _PLACES.values() if one.chapter == name]


def link(url: str, view: Mapping[str, str], words: str) -> None:
    """A link to a page in this view, with words (Markdown) under it; without them to the nearest page, if not there."""
    found = place(url)
    there = found.url == url
    label = f"**{found.title}**" if there else f"**{found.title}** (the nearest page there is)"
    links.to(found.file, view if there else {}, label, ":material/science:")
    if there:
        st.caption(words)
