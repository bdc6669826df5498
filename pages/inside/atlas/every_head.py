"""The page on the atlas: all heads by two measures, and a list of those within a box or a lasso."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inside.atlas.choices import MeasuredHeads, choose_head, offer_card, offer_sheet, pick
from pages.ui import controls, head_links, page
from pages.ui.frame import panel
from tfcore.measures.atlas.atlas import MEASURES, Atlas
from tfcore.measures.heads.kinds import Place
from tfcore.views.inside import atlas as views
from tfcore.views.inside.atlas.draw import Tool

LONGEST = 2_000  # characters of the heads on a list
COLOURS: dict[views.Colour, str] = {"layer": "layer", "kind": "kind of head"}
TOOLS: dict[Tool, str] = {"select": "box", "lasso": "lasso"}
TRY: dict[str, dict[str, Any]] = {
    "what they do, what they add": {"x": "activity", "y": "effect", "colour": "layer", "chosen": ""},
    "induction": {"x": "same", "y": "after_same", "colour": "kind", "chosen": ""},
    "how many directions": {"x": "qk_rank", "y": "ov_rank", "colour": "layer", "chosen": ""},
    "near and far": {"x": "distance", "y": "entropy", "colour": "kind", "chosen": ""},
}


def every_head(heads: MeasuredHeads) -> None:
    """Show the section."""
    names = {name: MEASURES[name].title for name in heads.measures}
    with panel(None) as p:
        p.examples({name: values for name, values in TRY.items() if values["y"] in names})
        left, right = st.columns([5, 3], gap="medium")
        with left:
            row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
            picture = st.container()
        with row:
            with st.container(width=165):
                x = controls.select("Across", "x", list(names), "activity", names)
            with st.container(width=210):  # for “Effect of mean ablation”
                y = controls.select("Upwards", "y", list(names), "distance" if heads.corpus else "effect", names)
            with page.more_settings():
                colour = controls.segmented("Colour", "colour", list(COLOURS), "layer", COLOURS)
                tool = controls.segmented("The pointer draws", "tool", list(TOOLS), "select", TOOLS)
                words = controls.text_line("Heads on the list, as layer.head", "chosen", "", LONGEST)
                chosen = head_links.named_heads("chosen", words, heads.shape)
        with right:
            st.subheader("One of them", anchor=False)
            place = choose_head(heads)
            beside = st.container()

        def draw(atlas: Atlas | None) -> None:
            with picture:
                shown = views.scatter(
                    heads.model, x, y, colour, chosen, *place, tool=tool, corpus=heads.corpus, so_far=atlas
                )
                p.show(
                    shown,
                    partial(pick, heads),
                    "Click a dot to look at its head; draw around some to list them.",
                    on_select=partial(keep, heads),
                )
            with beside:
                p.show(views.distances(heads.model, *place, corpus=heads.corpus, so_far=atlas))
                offer_sheet(place)
            if chosen:
                st.markdown(f"**On the list: {len(chosen)} of {heads.shape[0] * heads.shape[1]} heads**")
                st.dataframe(shown.numbers(), hide_index=True, height=min(280, 38 + 35 * len(chosen)))

        heads.show(p.controls, draw)
        offer_card(heads)
        p.what_to_see(
            "Heads at the left do little but rest on the sink, the first token: they wait for what they look for. "
            "Those high up cost the model most where they are taken away. Most heads that do much cost little each, "
            "as others do the same beside them. Draw a box around the few that stand apart, and look at what they "
            "have in common."
        )
        p.question(
            "A head has the largest activity of all. Is it the one that the model needs most?",
            "Seldom. Activity says how much of its weight is not at rest, not what comes of it: a head that always "
            "looks at the previous token is active at every token. Put the effect of mean ablation upwards and "
            "compare.",
        )


def keep(heads: MeasuredHeads, places: list[Any]) -> None:
    """The heads within a box or a lasso are those on the list."""
    layers, count = heads.shape
    named: list[Place] = []
    for place in places:
        match place:
            case [int(layer), int(head)] if 0 <= layer < layers and 0 <= head < count:
                named.append((layer, head))
    controls.set_values(chosen=" ".join(f"{layer}.{head}" for layer, head in sorted(set(named))))
