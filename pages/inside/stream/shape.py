"""Section of the page on the residual stream: its norm, and its cosine to the final state."""

from typing import Any

import streamlit as st

from pages.inside.reading import ReadText
from pages.inside.stream.choices import choose
from pages.ui.frame import panel
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.measure.shape import Measure, shape_of
from tfcore.views.inside.stream.say.shape import largest_turn

MEASURES: tuple[Measure, ...] = ("norm", "cosine")


def shape(reading: ReadText, more: Any) -> None:
    """Show the section."""
    with panel(None) as p:
        pictures = st.columns(2, gap="medium")
        position = choose(reading, more).position
        for place, measure in zip(pictures, MEASURES, strict=True):
            with place:
                p.show(views.shape(reading.whole, position, measure))
        st.subheader(f"What each part adds at position {position}", anchor=False)
        p.show(views.added(reading.whole, position))
        p.what_to_see(
            "Every part adds to the stream; the final norm divides its length out, and only the direction is read. The "
            f"cosine to the final state says how near it is to its end. {largest_turn(shape_of(reading.whole))} A "
            "cosine below 0 marks a part that removes some of what it found."
        )
        p.question(
            "Suppose that later layers write vectors of larger norm. Are they therefore more important?",
            "Not by their norm alone. The final norm divides by the length of the sum, so what counts for one token's "
            "logit is the component in its direction: direct logit attribution, the first section. An early write may "
            "be short, but every later layer reads it.",
        )
