"""Pages in a frame of another site (`?embed=true`): a page without navigation, or one figure of it.

One figure is what `&figure=KEY` asks for, KEY being the figure's key on its page. The page runs as always, and a style
hides all but a container that is drawn around the one figure with exactly that key; what the address says is compared,
never put into the style. Clicks reach the page and redraw the figure, so it is as live as on its page.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.ui import links, notices
from pages.ui.session import session
from pages.ui.streamlit_internals import APP, AT_REST, BLOCK, COLUMN

KEY = "figure"
_BOX = "framed_figure"
# Until the page is complete, nothing is shown that may have to go again; a page without the figure then appears whole.
STYLE = f"""<style>
{APP}:is(:not({AT_REST}), :has(.st-key-{_BOX}))
  {BLOCK} *:not(:has(.st-key-{_BOX})):not(.st-key-{_BOX}, .st-key-{_BOX} *) {{
  display: none !important; }}
{BLOCK} {{ padding: 0.25rem 0.5rem !important; max-width: none !important; }}
{COLUMN}:has(.st-key-{_BOX}) {{ flex: 1 1 100% !important; min-width: 100% !important; }}
</style>"""


def is_on() -> bool:
    """Whether this visitor sees the app in a frame."""
    return bool(st.context.is_embedded)


def is_allowed() -> bool:
    """Whether other sites may show this app in a frame."""
    return bool(os.environ.get("TFCORE_EMBED", "").strip())


def is_alone(key: str) -> bool:
    """Whether the figure of this key is the only thing to be shown."""
    return is_on() and links.asked(KEY) == key


def begin() -> None:
    """Hide what the address does not ask for, before the page draws anything.

    The sentence is always there, and hidden with the rest where the figure is: a page may stop early, and nothing can
    be drawn after that.
    """
    asked = links.asked(KEY) if is_on() else None
    if asked is None:
        return
    if session().missing_figure != asked:
        st.html(STYLE)
    session().missing_figure = asked  # until it is drawn
    st.caption(f"There is no figure {notices.shown(asked)} in this view, so all of it is shown.")


@contextmanager
def box(key: str) -> Iterator[None]:
    """The container of the figure `key`; the style hides everything else where that figure was asked for."""
    if not is_alone(key):
        yield
        return
    session().missing_figure = None
    with st.container(key=_BOX):
        st.html(STYLE)
        yield
