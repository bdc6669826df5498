"""A guided tour across the pages: a card in a fixed place while the address says `tour=N`, and nothing otherwise.

Each stop rings what it speaks of, dims the rest and asks for one action. One text goes along: a visitor's own, once
they have typed one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st

from pages.ui import keys, links, places
from pages.ui.components import assets

KEY = "tour"
TEXT = "Sam was a little boy. One day, Sam said that"
LONGEST = 1_500  # characters of the text that goes along
LAST = "check"  # the page after the last stop
_STYLE = Path(__file__).with_suffix(".css")
_RING = assets.inline("tour_ring", "tour_ring")


# Values that several pages know travel along with a visitor (a text, a head): a stop names all that matter to its view.


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop of the tour.

    Args:
        page: its address.
        target: what is ringed, as a selector.
        words: what is to be seen there, whatever the text.
        action: what to do.
        view: parameters of the address that set the view, but for the text.
    """

    page: str
    target: str
    words: str
    action: str
    view: Mapping[str, str] = field(default_factory=dict)


STOPS = (
    Stop(
        "flow",
        ".tf-river svg",
        "Each golden stream is a token on its way through the layers, and each ribbon is what a head carries from one "
        "token to another. At the end are the next tokens.",
        "Click one of the dots at a layer: that head is off.",
        {"model": "stories", "heads": ""},
    ),
    Stop(
        "tokens",
        ".st-key-chips-tokens-chips",
        "A model reads tokens, not letters: frequent words stay whole, and rare ones fall into several pieces. The "
        "number of each token is all that the model is given.",
        "Put a long, rare word into the text.",
        {"part": "text", "model": "stories"},
    ),
    Stop(
        "heads",
        ".st-key-closer-figure",
        "One attention head: each row is a token that reads, each column a token that it may read. A row sums to 1, "
        "and nothing right of the diagonal is read.",
        "Click another tile: another head reads something else.",
        {"model": "stories", "layer": "2", "head": "5"},
    ),
    Stop(
        "masks",
        ".st-key-mask-figure",
        "The grey half is blocked: a causal mask keeps each token from attending to later ones. Otherwise the model "
        "would be shown what it is to predict.",
        "Choose another mask, and see what becomes visible.",
        {"kind": "causal", "model": "stories", "layer": "2", "head": "5"},
    ),
    Stop(
        "stream",
        ".st-key-lens-figure",
        "The logit lens: the stream after each part of the model, read as if it were the last. In each row a "
        "prediction takes shape from left to right.",
        "Follow the last row to the end: that is what the model predicts.",
        {"show": "Logit lens", "model": "stories"},
    ),
    Stop(
        "interventions",
        ".st-key-board-figure",
        "Each field is a head or a feed-forward layer, and its number is what the prediction loses without it. Many do "
        "next to nothing on one text, and a few decide.",
        "Click a field with a strong colour, and read the bars of the next token.",
        {"show": "Ablate and scale", "model": "stories", "action": "zero ablation"},
    ),
    Stop(
        "flow",
        ".st-key-write-button",
        "The river again: the heads that decide have the largest dots, and the words along the stream of the last "
        "token are the logit lens. A text is written by doing all this once for each token.",
        "Press the button three times, and watch the river flow on.",
        {"model": "stories", "heads": ""},
    ),
)


def address(number: int, text: str = TEXT) -> dict[str, str]:
    """The parameters of a stop's address, counted from 1, with the text that goes along."""
    return {**STOPS[number - 1].view, **links.text_parameters("text", text), KEY: str(number)}


def stop_at(said: str | None, page: str) -> int | None:
    """The number of the stop that the address says, if there is one and it is on this page."""
    if said is None or not (said.isascii() and said.isdigit() and len(said) <= 3):
        return None
    number = int(said)
    return number if 1 <= number <= len(STOPS) and places.place(STOPS[number - 1].page).url == page else None


def begin() -> None:
    """The link that starts the tour."""
    first = places.place(STOPS[0].page)
    label = f"**Take the tour**: {len(STOPS)} stops, one text"
    links.to(first.file, address(1), label, ":material/tour:")


def bar(page: str) -> None:
    """The card: where the tour is, what to look at, and the ways on; draws nothing on a page that is no stop of it."""
    number = stop_at(links.asked(KEY), page)
    if number is None:
        return
    stop = STOPS[number - 1]
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
    links.to(places.place(STOPS[number - 1].page).file, address(number, _text()), word, f":material/{icon}:")


def _text() -> str:
    """What is in the box of this page's text, or will be; the tour's own where the page has none."""
    said = st.session_state.get("text")
    if not isinstance(said, str) or links.address_decides("text"):
        said = links.text_from_address("text", LONGEST)
    return said or TEXT


def _end() -> None:
    """The view stays as it is; only the card goes."""
    links.write(KEY, None)
