"""The page on the atlas: heads that go from one kind of token to another."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inside.atlas.choices import MeasuredHeads, choose_head, offer_sheet, pick
from pages.ui import controls
from pages.ui.frame import panel
from tfcore.measures.atlas.atlas import Atlas
from tfcore.measures.atlas.token_kinds import KINDS
from tfcore.views.inside import atlas as views

TRY: dict[str, dict[str, Any]] = {
    "from a pronoun to a name": {"from": "pronoun", "to": "name"},
    "from a pronoun to a noun": {"from": "pronoun", "to": "noun"},
    "from a closing to an opening bracket": {"from": "closing bracket", "to": "opening bracket"},
    "from a verb to a noun": {"from": "verb", "to": "noun"},
    "from a noun to an adjective": {"from": "noun", "to": "adjective"},
    "back to the full stop": {"from": "any", "to": "full stop"},
    "within a word": {"from": "word continued", "to": "word start"},
}


def find_head(heads: MeasuredHeads) -> None:
    """Show the section."""
    with panel(None) as p:
        p.examples(TRY)
        left, right = st.columns([4, 5], gap="large")
        with left:
            one, other = st.columns(2)
            with one:
                query = controls.select("From a token of kind", "from", list(KINDS), "pronoun")
            with other:
                key = controls.select("To a token of kind", "to", list(KINDS), "noun")
        with right:
            st.subheader("One of them", anchor=False)
            place = choose_head(heads)

        def draw(atlas: Atlas | None) -> None:
            given: dict[str, Any] = {"corpus": heads.corpus, "so_far": atlas}
            with left:
                found = views.search(heads.model, query, key, *place, **given)
                if found.result:
                    p.show(found, partial(pick, heads), "Click a head to look at it.")
                else:
                    st.info(str(found.findings[0]))
                offer_sheet(place)
            with right:
                p.show(views.kinds(heads.model, *place, **given))
            p.show(views.examples(heads.model, *place, 10, **given))

        heads.show(p.controls, draw)
        p.what_to_see(
            "The dots are weights, the rings what each head would give these tokens if it looked by distance alone: a "
            "verb often stands next to a noun, so a head that looks at the previous token goes from verbs to nouns "
            "without knowing either. Heads are ranked by how far the dot is from its ring."
        )
        p.question(
            "Search from “any” to “full stop”. Do the heads that come first look for ends of sentences?",
            "Some rest there: a full stop tells little of the words around it, and a head that finds nothing it looks "
            "for puts its weight on tokens like that, as it does on the first one. Compare its activity, and where it "
            "goes from other kinds of tokens.",
        )
