"""Pictures: attention over the patches of one's own picture, head by head."""

from typing import Any

import streamlit as st

from pages.foundations.pictures.facts import FACTS
from pages.ui import controls, page
from pages.ui.components.figure import Event
from pages.ui.file_input import read_by, upload
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.loading import checkpoints
from tfcore.views.foundations import pictures as views
from tfcore.views.foundations.pictures.measure import Drawn, SeenPicture, see, telling_head
from tfcore.views.foundations.tokens.measure import signals
from tfcore.views.sources import File, opened

DRAWN: dict[Drawn, str] = {"balls": "three balls", "scene": "a house", "rings": "two chains", "shapes": "shapes"}
REAL = "dinov2"  # first where it was fetched
CLASS = 0  # the query to begin with: the class token


def see_by_name(name: str, pixels: Any) -> SeenPicture:
    return see(opened(name, pictures=True)[0], pixels)


here = checkpoints.reading("pictures")
begun_with = REAL if REAL in here else here[0]
drawn_first: Drawn = "balls" if begun_with == REAL else "shapes"  # which the small one was trained on
page.begin(FACTS, always={"vit": begun_with, "drawn": DRAWN[drawn_first]})
with panel((1, 3)) as p:
    with p.controls:
        name = models.choose(options={name: name for name in here}, key="vit", default=begun_with, reads="pictures")
        drawn = controls.select("Picture", "drawn", list(DRAWN), drawn_first, DRAWN)
        sliders = st.container()
        pixels = upload("Your own picture", "picture", signals.PICTURE_KINDS, signals.PICTURE_MEGABYTES, views.decoded)
        if pixels is not None:
            st.caption("Your picture is shown; “Picture” above belongs to the example.")
    picture: Drawn | File = drawn if pixels is None else File("picture.png", read_by(name, pixels, see_by_name))
    seen = views.seen_of(name, picture)
    n_layers, n_heads, n_tokens, _ = seen.patterns.shape
    last = n_layers - 1
    p.examples(
        {
            "what stands out": {"layer": last, "head": telling_head(seen, last), "token": CLASS},
            "the first layer": {"layer": 0, "head": telling_head(seen, 0), "token": CLASS},
            "from a patch in the middle": {"layer": last // 2, "token": n_tokens // 2 + seen.patches.rows // 2},
        }
    )
    with sliders:
        layer = controls.place("Layer", "layer", n_layers, last)
        head = controls.place("Head", "head", n_heads, telling_head(seen, last))
        with page.more_settings():
            token = controls.place("Query token (0: CLS)", "token", n_tokens, CLASS)

    def choose_patch(event: Event) -> None:
        rows = seen.patches.rows
        match event["point"]:
            case [int(row), int(column)] if row < rows and column < rows:
                controls.set_values(token=seen.learned + row * rows + column)

    def choose_head(event: Event) -> None:
        match event["customdata"]:
            case [int(_), int(other)] if other < n_heads:
                controls.set_values(head=other)

    def choose_of_all(event: Event) -> None:
        match event["customdata"]:
            case [int(one), int(other)] if one < n_layers and other < n_heads:
                controls.set_values(layer=one, head=other)

    with p.picture:
        left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.head(name, picture, layer, head, token), choose_patch, "Click a patch to ask from there.")
        with right:
            p.show(views.heads(name, picture, layer, head, token), choose_head, "Click a head to see it large.")
        if seen.classes:
            p.show(views.classes(name, picture))
        left, right = st.columns(2, gap="medium")
        with left:
            p.show(views.distances(name, picture, layer, head), choose_of_all)
            p.show(views.learned(name, picture, layer, head), choose_of_all)
        with right:
            p.show(views.rollout(name, picture, token), choose_patch)
    p.what_to_see(
        "In the last layers the class token's heads lie on **whole objects**, and often one lies on all the rest: "
        "nobody told a model like DINOv2 where an object ends. Ask from a patch of an object, and see which patches "
        "answer. Early on some heads look only at **neighbours**, as a convolution does, and others over the whole "
        "picture. A learned token is where weight rests that is meant for no patch, as the first token of a text is; "
        "**registers** are learned tokens made for that. Rollout mixes all heads, and blurs what single ones tell "
        "apart."
    )
    p.question(
        "A patch knows its neighbours in the row; how does it know the one above it?",
        "Only by position: patches come as one long sequence, and nothing but the learned vector of each place says "
        "that two of them touch. Shuffle the patches together with these vectors, and the model sees the same picture.",
    )
