"""A row of what is worth seeing in the text of a page, each a click away: "In your text: “it” → “trophy”, head 13.8".

in_your_text.above(pasted)                          # where it stands for a text that was typed
in_your_text.reserve()                              # where it stands for another, under the first picture
...                                                 # the pictures, which never wait for it
in_your_text.fill(reading, TOKENS, shows, "link")   # what is found, at the end of the run

Where a visitor has typed the text, the page begins with the first highlight of a kind: its controls are set to it,
once, and so the address says it. Examples, and texts of links, keep what they begin with.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import controls, keys, links, text
from pages.ui.loading import models
from pages.ui.reading import last_tokens
from pages.ui.session import session
from tfcore.measures.heads.part_texts import longest_text
from tfcore.measures.interventions import Part, written
from tfcore.tokenizers.tokenizer import unmarked
from tfcore.views.highlights import Chip, Kind, found_in
from tfcore.views.inside.stream.measure.text import TOKENS as STREAM_TOKENS
from tfcore.views.sources import Reading

Values = dict[str, Any]
Shows = Callable[[Chip], Values | None]  # with what values a page shows a highlight; None: it cannot
HEADS, STREAM = "foundations/heads/page.py", "inside/stream/page.py"
INTERVENTIONS = "inside/interventions/page.py"
MOST = 5  # in a row
SECTIONS = ("show", "stage", "zoom")  # controls that no page begins with: a visitor stays where they are
FOLLOWS = -1  # on the page on the stream, the token that stands next in the text


def above(pasted: str) -> None:
    """Keep a place above the pictures for the row of a text that the visitor has typed: what is found is what they look
    for. Of another, nothing of the page moves for it."""
    forget()
    if controls.is_own("text", pasted):
        reserve()


def forget() -> None:
    """Forget the place that a run before kept, and ended before it came to fill it."""
    session().row_of_text = None


def reserve() -> DeltaGenerator:
    """Keep a place for the row of this page, where it has none yet; without, it stands where it is filled."""
    place: DeltaGenerator | None = session().row_of_text
    if place is None:
        key = keys.own("container", "in your text")
        place = session().row_of_text = st.container(horizontal=True, vertical_alignment="center", gap="small", key=key)
        place.caption("In your text:", width="content")
    return place


def fill(reading: Reading, most: int, shows: Shows, begin: Kind | None = None) -> None:
    """Fill the row. A highlight that the present page shows sets its controls, and so its address; any other is a
    link.

    Args:
        most: tokens of a text that the page reads.
        shows: for the present page.
        begin: the kind of highlight that the page begins with, where the visitor has typed the text.
    """
    now = str(reading.model), unmarked(reading.text)
    is_new = session().looked_for.get(session().page or "") != now
    place = reserve()
    forget()
    with place:
        waiting = st.empty() if is_new else None
        if waiting is not None:
            waiting.caption("being looked for.", width="content")
        found = found_in(reading, most)
        if waiting is not None:
            waiting.empty()
        if found is None:
            st.caption("nothing is looked for in such a text, or with such a model.", width="content")
            return
        chips = [_moved(chip, reading, most, found.tokens) for chip in found.chips[:MOST]]
        for i, chip in enumerate(chips):
            _show(i, chip, shows(chip), reading, most)
        if found.nothing:
            st.caption(text.escape(found.nothing), width="content")
    session().looked_for[session().page or ""] = now
    if is_new and begin is not None and controls.is_own("text", reading.text):
        _begin(chips, shows, begin)


def _begin(chips: Sequence[Chip], shows: Shows, kind: Kind) -> None:
    """Let the page begin with the first highlight of a kind."""
    values = next((shown for chip in chips if chip.kind == kind and (shown := shows(chip))), {})
    if chosen := {key: value for key, value in values.items() if key not in SECTIONS}:
        controls.run_again(chosen)


def _moved(chip: Chip, reading: Reading, most: int, tokens: int) -> Chip:
    """A highlight at the place that its tokens have on a page that reads so many, and so many of those highlights are
    of: both keep the last ones."""
    further = len(last_tokens(str(reading.model), reading.text, most, reading.bos).ids) - tokens
    return replace(chip, token=chip.token + further, key=None if chip.key is None else chip.key + further)


def _show(i: int, chip: Chip, values: Values | None, reading: Reading, most: int) -> None:
    words = text.escape(chip.words)
    if values is not None:
        st.button(
            words, key=keys.own("button", f"found {i}"), type="tertiary", on_click=controls.set_values, kwargs=values
        )
        return
    name, here = str(reading.model), len(last_tokens(str(reading.model), reading.text, most, reading.bos).ids)
    file, shown, longest = STREAM, in_stream, STREAM_TOKENS
    if models.config(name).architecture == "encoder":  # a class, of which the page on the stream adds up nothing
        file, shown = INTERVENTIONS, in_interventions
    if chip.kind in ("link", "repeated"):
        file, shown, longest = HEADS, in_heads, longest_text(models.config(name))
    there = shown(_moved(chip, reading, longest, here)) or {}
    view = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in there.items()}
    view |= {"model": name, **links.text_parameters("text", reading.text)}
    if reading.bos is not None:
        view["bos"] = "with" if reading.bos else "without"
    links.to(file, view, words)


# ---- what the pages show that links lead to; options of controls by their ids, as an address may say them ----


def in_heads(chip: Chip) -> Values | None:
    """For the page on heads: the query token, in the head that looks."""
    if chip.kind not in ("link", "repeated"):
        return None
    place = dict(zip(("layer", "head"), chip.heads[0], strict=True)) if chip.heads else {}
    return {"show": "heads", "of": "head", **place, "token": chip.token, "hide": True}


def in_stream(chip: Chip) -> Values | None:
    """For the page on the residual stream: what wrote a prediction, or how a token that was not expected fares."""
    if chip.kind == "surprise":
        return {"show": "lens", "position": chip.token, "by": "prediction", "word": FOLLOWS}
    if chip.kind != "decision":
        return None
    predicted = {"position": chip.token, "by": "prediction", "word": 0}
    if not chip.heads:
        return {"show": "lens", **predicted}
    layer, head = chip.heads[0]
    return {"show": "who", **predicted, "layer": layer, "part": f"head {head}"}


def in_interventions(chip: Chip) -> Values | None:
    """For the page on interventions: the prediction without the heads that decide it."""
    if chip.kind != "decision" or not chip.heads:
        return None
    parts = written(Part(layer, head) for layer, head in chip.heads)
    return {"show": "switch", "edit": "own", "parts": parts, "action": "zero", "by": "prediction", "word": 0}
