"""The page on the atlas: the sheet of one head."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inside.atlas.choices import MeasuredHeads, choose_head, offer_card, pick
from pages.ui import controls, links
from pages.ui.frame import panel
from pages.ui.head_links import FILE
from tfcore.measures.atlas.atlas import Atlas, load_atlas
from tfcore.measures.heads.kinds import Place
from tfcore.views.inside import atlas as views
from tfcore.views.inside.atlas.measure import largest_by

EACH = 0  # tenths, of which one example each
TENTHS = {EACH: "one of each tenth", 10: "its most active tenth", **{i: f"tenth {i}" for i in range(9, 0, -1)}}
LARGEST = {  # measures, by the largest of which a head is worth a look
    "effect": "the model needs it most",
    "previous": "previous token",
    "after_same": "induction",
    "bracket": "closes brackets",
    "distance": "looks furthest",
    "sink_share": "mostly at rest",
}


def largest(model: str) -> dict[str, dict[str, Any]]:
    """Heads with the largest of some measures."""
    atlas = load_atlas(model)
    places = {words: largest_by(atlas, name) for name, words in LARGEST.items() if name in atlas.measures}
    return {words: {"layer": layer, "head": head} for words, (layer, head) in places.items()}


def one_of_each_end(shape: Place) -> dict[str, dict[str, Any]]:
    """The same where nothing is measured yet: a head of the first layer, one in the middle and one of the last."""
    layers, _ = shape
    at = {"first layer": 0, "middle layer": layers // 2, "last layer": layers - 1}
    return {words: {"layer": layer, "head": 0} for words, layer in at.items()}


def one_head(heads: MeasuredHeads) -> None:
    """Show the section."""
    with panel(None) as p:
        p.examples(one_of_each_end(heads.shape) if heads.corpus else largest(heads.model))
        left, right = st.columns([5, 4], gap="large")
        with left:
            place = choose_head(heads)
        middle, below = st.container(), st.container()
        with middle, st.container(width=300):
            tenth = controls.select("Examples", "tenth", list(TENTHS), EACH, TENTHS)

        def draw(atlas: Atlas | None) -> None:
            given: dict[str, Any] = {"corpus": heads.corpus, "so_far": atlas}
            with left:
                p.show(views.measures(heads.model, *place, **given))
            with right:
                p.show(views.distances(heads.model, *place, **given))
                if not heads.corpus:
                    p.show(views.effect(heads.model, *place))
            with middle:
                p.show(views.examples(heads.model, *place, tenth, **given))
            with below:
                kinds, near = st.columns([5, 3], gap="large")
                with kinds:
                    p.show(views.kinds(heads.model, *place, **given))
                with near:
                    p.show(
                        views.nearest(heads.model, *place, **given), partial(pick, heads), "Click a bar to go there."
                    )

        heads.show(p.controls, draw)
        view = {"model": heads.model, "layer": str(place[0]), "head": str(place[1])}
        links.to(FILE, view, f"Head {place[0]}.{place[1]} on a text", ":material/arrow_outward:")
        offer_card(heads)
        p.what_to_see(
            "Read the sheet from the top: by which measures the head stands at an end, and how far it looks. The "
            "examples say what that means: those of its most active tenth alone make any head look like a "
            "specialist, so each tenth has one, down to places where it does nothing. The map of kinds says what "
            "distance does not explain: a head that looks at the token before it also looks from nouns at "
            "determiners, and is pale here."
        )
        p.question(
            "Why are examples from the middle tenths there, and not only those where the head does most?",
            "Because a head's strongest places are few, and chosen for being strong. What it does in the middle of its "
            "range is what it does most of the time, and often that is something else, or nothing: a label taken from "
            "the top alone may be true of one place in a hundred.",
        )
