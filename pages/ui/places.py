"""Pages as Streamlit has them, and links to them."""

from collections.abc import Mapping
from copy import copy
from functools import cache

import streamlit as st

from pages import facts
from pages.facts import Page
from pages.ui import links


@cache
def _entry(file: str, title: str, icon: str, key: str) -> st.Page:
    return st.Page(file, title=title, icon=f":material/{icon}:", url_path=key or None, default=not key)


def entry(page: Page) -> st.Page:
    """One entry of the navigation; the page with the empty address is the front page. A copy for each run, which marks
    it: to make 38 anew, each looking for its file, takes a tenth of a run."""
    return copy(_entry(page.file, page.facts.title, page.facts.icon, page.facts.key))


def known(key: str) -> Page | None:
    """The page at this address, if there is one."""
    return facts.pages().get(key)


def place(key: str) -> Page:
    """The page at this address; the front page where there is none."""
    return known(key) or facts.pages()[""]


def link(key: str, view: Mapping[str, str], words: str) -> None:
    """A link to a page in this view, with words (Markdown) under it."""
    target = place(key)
    links.to(target.file, view, f"**{target.facts.title}**", ":material/science:")
    st.caption(words)
