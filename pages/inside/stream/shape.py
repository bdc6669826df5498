"""Section of the page on the residual stream: its norm, and its cosine to the final state."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inside.reading import Reading
from pages.inside.stream import experiments
from pages.inside.stream.choice import TOKENS, Choice, choose
from pages.ui import cache, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inside import residual_stream as analysis
from tfcore.analysis.inside.residual_stream import Measure, StreamShape
from tfcore.figures.inside.residual_stream import label_every
from tfcore.measures import one_text

MEASURES: tuple[Measure, ...] = ("norm", "cosine")

shape_of = cache.of_model(max_entries=12)(experiments.shape_of)


def shape(reading: Reading, more: Any) -> None:
    """The section."""
    pictures = st.columns(2, gap="medium")
    choice = choose(reading, more)
    position, found = choice.position, shape_of(reading.model, reading.pasted, TOKENS, reading.bos)
    for place, measure in zip(pictures, MEASURES, strict=True):
        values = found.norm if measure == "norm" else found.cosine
        shown = experiments.shape(found, reading.first, position, measure)
        with place:
            figure(
                shown.figure,
                key=measure,
                height=400,
                table=lambda v=values: pd.DataFrame(v.T, columns=list(found.stages)).assign(token=reading.tokens),
                alt=shown.alt,
                caption=f"At each stage, (stage, position) = {values.shape}. {shown.caption}",
            )
    writes(choice, found)
    page.what_to_see(
        "Every part adds to the stream; the final norm divides its length out, and only the direction is read. The "
        f"cosine to the final state says how near it is to its end. {analysis.largest_turn(found)} A cosine below 0 "
        "marks a part that removes some of what it found."
    )
    text = reading.model, reading.pasted, TOKENS, reading.bos
    found_made, read = made(experiments.shape_of, *text), made(one_text.first_tokens, *text)
    page.question(
        "Suppose that later layers write vectors of larger norm. Are they therefore more important?",
        "Not by their norm alone. The final norm divides by the length of the sum, so what counts for one token's "
        "logit is the component in its direction: direct logit attribution, the first section. An early write may be "
        "short, but every later layer reads it.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.shape, found_made, read, position, "norm"),
        formula=r"\|x_\ell\|_2, \qquad \cos(x_\ell, x_L) = \frac{x_\ell \cdot x_L}{\|x_\ell\|\,\|x_L\|}",
        code=(analysis.angles, analysis.stream_shape),
        papers=(
            "Growth of the stream with depth, and why a norm before each sublayer keeps it harmless: arXiv:2002.04745, "
            "section 3. The stream as a channel that layers read from and write to: A Mathematical Framework for "
            "Transformer Circuits (2021)."
        ),
    )


def writes(choice: Choice, found: StreamShape) -> None:
    """What each part adds at the chosen position."""
    added, along = found.added[:, choice.position], found.along[:, choice.position]
    shown = experiments.writes(found, choice.position)
    where = "above them" if label_every(len(found.parts)) == 1 else "under the pointer"
    st.subheader(f"What each part adds at position {choice.position}", anchor=False)
    figure(
        shown.figure,
        key="writes",
        height=300,
        min_width=350,
        table=lambda: pd.DataFrame({"part": found.parts, "length": added, "cosine to the stream": along}),
        alt=shown.alt,
        caption=f"Bars: norm of what is added to the stream; {where} its cosine to the stream it is added to. "
        f"{shown.findings[1]}",
    )
