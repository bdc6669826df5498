"""Section of the page on the residual stream: direct logit attribution, each part's share in one token's logit."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.inside.stream.choices import ExplainedPrediction, beside_place, choose
from pages.ui import controls, fragments, head_links, page
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from tfcore.measures.interventions import Whole
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.measure.parts import (
    FORWARD,
    LARGEST,
    MIXER,
    contributions_of,
    instalments,
    largest_place,
    shares_by_part,
)
from tfcore.views.inside.stream.say.parts import logit_sum
from tfcore.views.sources import Reading, opened


def who_wrote(reading: ReadText, more: Any, other: Reading | None) -> None:
    """Show the section; `other` stands beside it."""
    with panel(None) as p:
        left, right = st.columns([5, 6], gap="large")
        choice = choose(reading, more, has_reference=True)
        with left:
            adding_up(p, choice, more)
        with right:
            one_part(p, choice)
        if other is not None and (there := beside_place(choice, other)) is not None:
            is_token = isinstance(choice.against, int) and other.model != reading.model
            against = "mean" if is_token else choice.against
            p.show(views.parts_beside(reading.whole, other, (choice.position, choice.token), there, against))
        metric.elsewhere("direct logit attribution", reading, choice.quantity, choice.position)
        p.what_to_see(
            "Each bar on the left begins where the one before it ended, and the last bar is the logit. The board "
            "splits it by head. Blue shares are negative: that part favours other answers. These are direct effects "
            "only: a head whose output is used by a later head gets no credit for it here, and yet the prediction may "
            "depend on it. Ablate it on the page on interventions to see."
        )
        p.question(
            "Why measure a logit relative to the mean of all logits?",
            "Because the softmax does not change when the same number is added to all logits. A part that raises every "
            "logit by 3 changes no probability, yet its share in the raw logit would be 3. Relative to the mean it is "
            "0. Set the reference to “nothing” and see which shares change.",
        )


def adding_up(p: Panel, choice: ExplainedPrediction, more: Any) -> None:
    """The sum, part after part."""
    what = choice.reading.whole, choice.position, choice.token, choice.against
    attributed = contributions_of(*what)
    many = len(instalments(attributed)) > LARGEST + 1
    with more:
        whole = many and controls.toggle("Every part", "whole", False)
    p.show(views.summed(*what, every=whole))
    total = logit_sum(attributed, choice.piece)
    st.markdown(
        f"Logit of **{_reading.shown(choice.piece)}** after {_reading.shown(choice.reading.tokens[choice.position])}, "
        f"{choice.versus}: **{total.logit_text}**. Sum of the {total.count} parts: **{total.total_text}** "
        f"(off by {total.error_text})."
    )


@fragments.fragment
def one_part(p: Panel, choice: ExplainedPrediction) -> None:
    """The board of all heads and feed-forward layers, and what the chosen one promotes."""
    what = choice.reading.whole, choice.position, choice.token, choice.against
    attributed = contributions_of(*what)
    shares, parts = shares_by_part(attributed)
    picture = st.container()
    with page.more_settings():
        first = (3, parts[0])
        if _reading.begins_with_strongest(opened(choice.reading.model)[0].config):
            first = largest_place(attributed)
        layer = controls.place("Layer", "layer", len(shares), first[0])
        there = [name for name, one in zip(parts, attributed.parts[layer], strict=True) if one is not None]
        part = controls.select("Part", "part", there, first[1] if first[1] in there else there[0])
    with picture:
        click = partial(choose_part, parts, len(shares))
        p.show(views.parts(*what, layer, part), click, "Click a field to see what it writes.")
    whole: dict[str, Whole | None] = {FORWARD: None, MIXER: "mix"}
    head = whole[part] if part in whole else parts.index(part)
    p.show(views.promoted(choice.reading.whole, choice.position, layer, head))
    if isinstance(head, int) and attributed.attends[layer]:
        head_links.sheets(choice.reading.model, [(layer, head)])


def choose_part(parts: list[str], n_layers: int, event: Event) -> None:
    """A click on a field chooses its layer and part."""
    match event["customdata"]:
        case [int(layer), int(column)] if 0 <= column < len(parts) and 0 <= layer < n_layers:
            controls.set_values(layer=layer, part=parts[column])
