"""Section of the page on the residual stream: a sublayer or a block is skipped."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside.effects import numbers
from pages.inside.reading import ReadText
from pages.inside.stream.choices import ExplainedPrediction, choose
from pages.ui import controls
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.work import live
from pages.ui.work.filling import fill
from tfcore.measures import knock_outs
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.measure.skip import SkipsOfLayer, each_of, skip_each, skip_titles
from tfcore.views.inside.stream.skip import rows_shown
from tfcore.views.sources import opened

RUNS_PAST = "The residual stream runs past what is skipped, so the model still "
OF_CLASSES = f"{RUNS_PAST}names a class. A part without which the class is another is one that it depends on here."
OF_TOKENS = (
    f"{RUNS_PAST}predicts. Red cells are tokens with a higher loss without the part, blue ones with a lower loss. A "
    "row that is red throughout is a part that later layers depend on everywhere; a few red cells, one that only some "
    "tokens need."
)


def skip(reading: ReadText, more: Any) -> None:
    """Show the section."""
    with panel(None) as p:
        picture = st.container()
        titles = skip_titles(opened(reading.model)[0].config)
        line = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
        with line, st.container(width=220):
            chosen = controls.select("Skipped", "skip", titles, titles[-1])
        choice = choose(reading, more, tokens=more, row=line)
        with picture:
            shown = views.without(reading.whole, choice.position, chosen, choice.token, choice.other)
            p.show(shown)
            numbers(shown)
        tells_classes = metric.n_classes(reading.model) > 0
        if tells_classes:
            st.info("This model names classes and predicts no tokens, so there is no loss of each token to compare.")
        elif len(reading.ids) > 1:
            every_token(p, choice, titles, chosen)
        else:
            st.info("One token has nothing that follows it: give at least two to see the loss of each.")
        p.what_to_see(OF_CLASSES if tells_classes else OF_TOKENS)
        p.question(
            "The share of a layer in a logit (direct effect) and the loss increase when it is skipped (total effect): "
            "why do they differ?",
            "The share is what the layer itself wrote for that token. Skipping it also removes what later layers made "
            "of it, and they may write something else instead. In the example, attention 3 of stories has the largest "
            "share in “ball”, and without it “ball” still has 57 %; attention 0 has a third of that share, and without "
            "it “ball” is down to 3 %.",
        )


def every_token(p: Panel, choice: ExplainedPrediction, titles: list[str], chosen: str) -> None:
    """The loss increase of each token by each skip."""
    reading, tokens = choice.reading, len(choice.reading.ids)
    network, _ = opened(reading.model)
    st.subheader("Loss increase of every token, with each part skipped", anchor=False)
    named = [titles[row] for row in rows_shown(titles, chosen)]

    def draw(so_far: Sequence[SkipsOfLayer]) -> None:
        if not so_far:
            st.info("Nothing is measured yet: it begins as soon as there is room.")
            return
        shown = views.loss_increase(reading.whole, choice.position, chosen, so_far=so_far)
        p.show(shown, partial(choose_cell, named, tokens - 1), "Click a cell to look closer.")

    fill(
        ("skips", reading.whole),
        knock_outs.operations(network, len(titles), tokens),
        lambda: skip_each(network, reading.ids),
        lambda: each_of(reading.whole),
        draw,
        network.config.decoder_layers,
        "layer",
    )


def choose_cell(titles: list[str], columns: int, event: Event) -> None:
    """A click on a cell chooses the part that is skipped and the position."""
    at = event["point"]
    if isinstance(at, list) and at[0] < len(titles) and at[1] < columns:
        live.set_values(skip=titles[at[0]], position=at[1])
