"""A guided tour across the pages: a bar on top of each while the address says `tour=N`, and nothing otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from pages.ui import links, places

KEY = "tour"
TEXT = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day, Lily lost her red"
PARK = "Lily was very happy. She went to the park and saw a big"
MAX = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)


# Values that several pages know travel along with a visitor (a text, a head): a stop names all that matter to its view.


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop of the tour.

    Args:
        page: its address.
        words: what to look at there.
        view: parameters of the address that set the view.
    """

    page: str
    words: str
    view: Mapping[str, str] = field(default_factory=dict)


STOPS = (
    Stop(
        "tokens",
        "A model reads tokens, not letters: frequent words stay whole, rare ones fall into several pieces, and an "
        "emoji becomes bytes. Below each token stands its id, the only thing the model is given.",
        {"text": "The grandmother's unhappiness weighed 1234 grams. 😀"},
    ),
    Stop(
        "attention",
        "Each query is compared with every key; the higher the score, the larger the weight of that key's value in "
        "the sum. Drag the arrow of a query and watch the weights follow.",
        {"look": "Drag four tokens", "token": "cat"},
    ),
    Stop(
        "heads",
        "Every tile is one attention head of a trained model; in the outlined one, the second “red” attends most to "
        "“ball”, the token that followed the first “red” (an induction head). Point at a cell to read its weight.",
        {"model": "stories", "text": MAX, "layer": "3", "head": "0", "token": "25"},
    ),
    Stop(
        "positions",
        "Attention scores do not depend on the order of the tokens, so sinusoidal positions are added to the "
        "embeddings. Move the length and see which columns still differ between distant positions.",
        {"length": "256"},
    ),
    Stop(
        "masks",
        "The grey half is blocked: a causal mask keeps each token from attending to later ones. Below, one token is "
        "changed, and the outputs before it stay equal to the last bit.",
        {"kind": "causal", "text": TEXT, "layer": "3", "head": "0", "position": "20"},
    ),
    Stop(
        "residuals",
        "Networks of up to 64 layers before training, with residual connections and without. Without them and without"
        " norms, the gradient of the first layer vanishes, so nothing there could learn.",
        {"layers": "64"},
    ),
    Stop(
        "stream",
        "The logit lens: the residual stream after each layer, read as if it were the last. Follow a row from left to"
        " right and see where the final prediction appears.",
        {"show": "Logit lens", "text": TEXT},
    ),
    Stop(
        "induction",
        "Repeated random tokens: the first copy cannot be predicted, the second can be copied from it. The stripe is "
        "an induction head; without such heads, as here, the second copy's loss is nearly that of the first.",
        {"knock": "induction heads", "length": "24", "layer": "3", "head": "0"},
    ),
    Stop(
        "generation",
        "The distribution over the next token, and what is removed from it before one is sampled. Raise the "
        "temperature and see improbable tokens gain.",
        {"temperature": "1.2", "text": PARK},
    ),
    Stop(
        "parameters",
        "GPT-3, counted without building it: two thirds of each block are feed-forward. Choose another model and see "
        "what changes.",
        {"model": "GPT-3 175B"},
    ),
    Stop("check", "The tour ends here, with questions. Each wrong answer leads to the experiment that settles it."),
)


def address(number: int) -> dict[str, str]:
    """The parameters of a stop's address, counted from 1."""
    return {**STOPS[number - 1].view, KEY: str(number)}


def stop_at(said: str | None, page: str) -> int | None:
    """The number of the stop that the address says, if there is one and it is on this page."""
    if said is None or not (said.isascii() and said.isdigit() and len(said) <= 3):
        return None
    number = int(said)
    return number if 1 <= number <= len(STOPS) and places.place(STOPS[number - 1].page).url == page else None


def begin() -> None:
    """The link that starts the tour."""
    first = places.place(STOPS[0].page)
    label = f"**Take the tour**: {len(STOPS)} stops"
    links.to(first.file, address(1), label, ":material/tour:")


def bar(page: str) -> None:
    """Where the tour is, what to look at, and the ways on; draws nothing on a page that is no stop of it."""
    number = stop_at(links.asked(KEY), page)
    if number is None:
        return
    with st.container(border=True, key="tour_bar", gap="xsmall"):
        st.markdown(f"**Tour, stop {number} of {len(STOPS)}.** {STOPS[number - 1].words}")
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            if number > 1:
                _way(number - 1, "Back", "arrow_back")
            if number < len(STOPS):
                _way(number + 1, "Next", "arrow_forward")
            st.button("End the tour", key="tour_end", type="tertiary", on_click=_end)


def _way(number: int, word: str, icon: str) -> None:
    place = places.place(STOPS[number - 1].page)
    label = f"{word}: {place.title}"
    links.to(place.file, address(number), label, f":material/{icon}:")


def _end() -> None:
    """The view stays as it is; only the bar goes."""
    links.write(KEY, None)
