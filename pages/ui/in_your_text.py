"""A row of what is worth seeing in the text of a page, each a click away: "In your text: “it” → “trophy”, head 13.8".

row = in_your_text.row()          # where it will stand, before the pictures
...                               # the pictures, which never wait for it
in_your_text.fill(row, reading)   # what is found, at the end of the run
"""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import controls, keys, links, text
from pages.ui.session import session
from tfcore.views.highlights import TOKENS, Chip, chips, highlights_of, no_links
from tfcore.views.sources import Reading

HEADS, STREAM = "foundations/heads/page.py", "inside/stream/page.py"
MOST = 5  # in a row


def row() -> DeltaGenerator:
    """The place of the row."""
    place = st.container(horizontal=True, vertical_alignment="center", gap="small")
    place.caption("In your text:", width="content")
    return place


def fill(place: DeltaGenerator, reading: Reading, tokens: int) -> None:
    """Fill a row. A highlight that the present page shows sets its controls, and so its address; any other is a
    link.

    Args:
        tokens: of the whole text; highlights are of its last TOKENS.
    """
    read = Reading(reading.model, reading.text, bos=reading.bos)
    highlights = highlights_of(read)
    with place:
        if highlights is None:
            st.caption("nothing is looked for in such a text, or with such a model.", width="content")
            return
        for i, chip in enumerate(chips(highlights)[:MOST]):
            _show(i, chip, read, max(0, tokens - TOKENS))
        if not highlights.links:
            st.caption(text.escape(no_links(highlights)), width="content")


def _show(i: int, chip: Chip, reading: Reading, before: int) -> None:
    file, values = view_of(chip)
    if file == HEADS:
        values["token"] += before
    words = text.escape(chip.words)
    if file.split("/")[1] == session().page:
        st.button(
            words, key=keys.own("button", f"found {i}"), type="tertiary", on_click=controls.set_values, kwargs=values
        )
        return
    view = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}
    view |= {"model": str(reading.model), **links.text_parameters("text", reading.text)}
    if reading.bos is not None:
        view["bos"] = "with" if reading.bos else "without"
    links.to(file, view | SECTIONS.get(file, {}), words)


SECTIONS = {STREAM: {"show": "Logit lens"}}  # as an address says it


def view_of(chip: Chip) -> tuple[str, dict[str, Any]]:
    """The page that shows a highlight, and what its controls are set to."""
    if chip.kind in ("link", "repeated") and chip.layer is not None and chip.head is not None:
        return HEADS, {"layer": chip.layer, "head": chip.head, "token": chip.token, "hide": True}
    return STREAM, {"position": chip.token}
