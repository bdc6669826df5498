"""The page on the atlas: what a head does on a text, beside what it usually does."""

from typing import Any

import streamlit as st

from pages.inside.atlas.choices import offer_sheet
from pages.ui import controls, fragments, in_your_text, notices
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read, text_box
from tfcore.measures.atlas.atlas import load_atlas, with_atlas
from tfcore.measures.heads.part_texts import longest_text
from tfcore.views.foundations import heads as head_views
from tfcore.views.foundations.heads.measure.attention import attention, read
from tfcore.views.highlights import Chip
from tfcore.views.inside import atlas as views
from tfcore.views.inside.atlas.measure import telling_head, unusual_look
from tfcore.views.sources import Reading, opened

CHARACTERS = 2_000  # of a text
MARY = "When Mary and John went to the store, John gave a drink to"
TIRED = "The animal didn't cross the street because it was too tired."
ROME = "The capital of France is Paris. The capital of Italy is"
SAM = "Sam was a little boy. One day, Sam said that"
RED = "Max had a red ball. One day Max lost the red"
TRY: dict[str, dict[str, dict[str, Any]]] = {
    "smollm2": {
        "a name mover?": {"text": MARY, "layer": 24, "head": 4, "token": 13},
        "“it” → “animal”": {"text": TIRED, "layer": 13, "head": 8, "token": 8},
        "again “capital of”": {"text": ROME, "layer": 17, "head": 3, "token": 8},
    },
    "stories": {
        "“that” → “Sam”": {"text": SAM, "layer": 3, "head": 5, "token": 11},
        "the red ball again": {"text": RED, "layer": 3, "head": 0, "token": 11},
    },
}
FIRST = {"stories": SAM}
ALL, ONE = "all", "one"
FROM = {ONE: "from one token", ALL: "from all tokens"}


def on_your_text(model: str) -> None:
    """Show the section."""
    if model not in with_atlas():
        st.info(
            "Nothing is stored of what the heads of this model usually do. Stored is that of "
            f"{', '.join(with_atlas())}; the other sections measure heads on a text of your own."
        )
        return
    pasted = text_box(model, "Text", "text", FIRST.get(model, MARY), CHARACTERS, height=68, named=False)
    reading = Reading(model, pasted)
    if not pasted.strip() or (seen := read(reading)) is None:
        say_nothing_read(model, pasted, "text", "There is no text yet: type or paste some above, or pick an example.")
        fragments.stop()
    notices.tokens(len(seen.maps.ids) + seen.dropped, len(seen.maps.ids))
    with panel(None) as p:
        there = models.fitting()
        p.examples(
            {
                name: {"model": one, "by": ONE, **values}
                for one, group in TRY.items()
                if one in there
                for name, values in group.items()
            }
        )
        with p.tries:
            in_your_text.above(pasted)
        portrait = st.container()
        in_your_text.reserve()
        left, right = st.columns([3, 4], gap="large")
        tokens = attention(reading).keys
        layers, count = load_atlas(model).shape
        look = unusual_look(reading) or (*telling_head(load_atlas(model)), len(tokens) - 1)
        with left:
            one, other = st.columns(2)
            with one:
                layer = controls.place("Layer", "layer", layers, look[0])
            with other:
                head = controls.place("Head", "head", count, look[1])
            by = controls.segmented("It looks from", "by", list(FROM), ONE, FROM, named=False)
            token = controls.place("Query token", "token", len(tokens), look[2], of=tuple(tokens))
            offer_sheet((layer, head))
        with portrait:
            p.show(head_views.portrait(reading, layer, head, token), follow, "Click a word to look from it.")
        with right:
            p.show(views.role(reading, layer, head, token if by == ONE else None))
        p.what_to_see(
            "Above, where the head looks on this text; below, by kinds of tokens, how that compares with what it does "
            "over many texts. One text can show a head in a role that it seldom has: what moves a name here may spend "
            "most of its weight on full stops elsewhere. Look from all tokens, and from one."
        )
        p.question(
            "A head looks at a name here, and seldom does so usually. Is it wrong to call it a name mover?",
            "It is a part of the truth: on such sentences it does that, and the model may well need it there. But the "
            "name says nothing of what it does in the rest of a thousand texts, which is what it was trained on. Take "
            "the sheet's examples from the middle tenths before giving a head a name.",
        )
    in_your_text.fill(reading, longest_text(opened(model)[0].config), shown_here, "link")


def follow(event: Event) -> None:
    """A click on a word looks from it."""
    if isinstance(event["customdata"], int):
        controls.set_values(token=event["customdata"], by=ONE)


def shown_here(chip: Chip) -> dict[str, Any] | None:
    """The values that show a highlight here, see in_your_text: a head that links two words."""
    if chip.kind not in ("link", "repeated") or not chip.heads:
        return None
    layer, head = chip.heads[0]
    return {"layer": layer, "head": head, "token": chip.token, "by": ONE}
