"""A guided tour across the pages: a card in a fixed place while the address says `tour=N`, and nothing otherwise.

Each stop rings what it speaks of, dims the rest and asks for one action. One text goes along: a visitor's own, once
they have typed one.
"""

from pathlib import Path
from typing import NamedTuple

import streamlit as st

from pages import facts
from pages.facts import Page
from pages.ui import keys, links, places
from pages.ui.components import assets

KEY = "tour"
TEXT = "Sam was a little boy. One day, Sam said that"
LONGEST = 1_500  # characters of the text that goes along
LAST = "check"  # the page after the last stop
_STYLE = Path(__file__).with_suffix(".css")
_RING = assets.inline("tour_ring", "tour_ring")


class PlacedStop(NamedTuple):
    """A stop, and the page that it is on."""

    page: Page
    says: facts.Stop


STOPS = sorted(
    (PlacedStop(page, one) for page in facts.pages().values() for one in page.facts.stops),
    key=lambda stop: stop.says.number,
)


def address(number: int, text: str = TEXT) -> dict[str, str]:
    """The parameters of a stop's address, counted from 1, with the text that goes along."""
    return {**STOPS[number - 1].says.view, **links.text_parameters("text", text), KEY: str(number)}


def stop_at(said: str | None, page: str) -> int | None:
    """The number of the stop that the address says, if there is one and it is on this page."""
    if said is None or not (said.isascii() and said.isdigit() and len(said) <= 3):
        return None
    number = int(said)
    return number if 1 <= number <= len(STOPS) and STOPS[number - 1].page.facts.key == page else None


def begin() -> None:
    """The link that starts the tour."""
    label = f"**Take the tour**: {len(STOPS)} stops, one text"
    links.to(STOPS[0].page.file, address(1), label, ":material/tour:")


def bar(page: str) -> None:
    """The card: where the tour is, what to look at, and the ways on; draws nothing on a page that is no stop of it."""
    number = stop_at(links.asked(KEY), page)
    if number is None:
        return
    stop = STOPS[number - 1].says
    st.html(_STYLE)
    with st.container(border=True, key="tour_bar", gap="xsmall"):
        st.markdown(f"**Stop {number} of {len(STOPS)}.** {stop.words} **{stop.action}**")
        with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="tour_ways"):
            st.button("End the tour", key=keys.own("button", "tour_end"), type="tertiary", on_click=_end)
            if number > 1:
                _way(number - 1, "Back", "arrow_back")
            if number < len(STOPS):
                _way(number + 1, "Next", "arrow_forward")
            else:
                links.to(places.place(LAST).file, {}, "Questions", ":material/quiz:")
        _RING(key=keys.own("ring", "tour"), data={"target": stop.target, "stop": number}, height="content")


def _way(number: int, word: str, icon: str) -> None:
    links.to(STOPS[number - 1].page.file, address(number, _text()), word, f":material/{icon}:")


def _text() -> str:
    """The text in the box of this page, or to be put there; the tour's own where the page has none."""
    said = st.session_state.get("text")
    if not isinstance(said, str) or links.address_decides("text"):
        said = links.text_from_address("text", LONGEST)
    return said or TEXT


def _end() -> None:
    """The view stays as it is; only the card goes."""
    links.write(KEY, None)
