"""Section of the page on the residual stream: its norm, and its cosine to the final state."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.stream import experiments as experiments
from pages.inside.stream.choice import TOKENS, Choice
from pages.ui import cache, page
from pages.ui.components.figure import figure
from tfcore.analysis.inside import stream_shape as measures
from tfcore.analysis.inside.stream_shape import StreamShape
from tfcore.figures.inside import stream_shape as figures


@cache.data(max_entries=12)
def measured(model: str, pasted: str) -> StreamShape:
    return measures.stream_shape(cache.model(model)[0], _reading.read(model, pasted, TOKENS).ids)


def shape(choice: Choice) -> None:
    """The section."""
    reading, position = choice.reading, choice.position
    found = measured(reading.model, reading.pasted)
    stages, labels = _reading.stage_names(found.stages), reading.labels
    norm, cosine = found.norm[:, position], found.cosine[:, position]
    left, right = st.columns(2, gap="medium")
    for place, key, values, axis, limits, finding in (
        (
            left,
            "norm",
            found.norm,
            "norm of the stream",
            None,
            f"from {norm[0]:.1f} to {norm[-1]:.1f}, {norm[-1] / norm[0]:.1f} times as large",
        ),
        (
            right,
            "cosine",
            found.cosine,
            "cosine to the final state",
            (min(-0.05, float(found.cosine.min())), 1.05),
            f"from {cosine[0]:.2f} to 1; half way through {cosine[len(cosine) // 2]:.2f}",
        ),
    ):
        with place:
            figure(
                figures.curves(values, stages, labels, position, axis, height=400, limits=limits),
                key=key,
                height=400,
                table=lambda v=values: pd.DataFrame(v.T, columns=list(found.stages)).assign(token=reading.tokens),
                alt=f"{axis.capitalize()} of '{labels[position]}', position {position}: {finding}.",
                caption=f"{axis.capitalize()} at each stage, (stage, position) = {values.shape}. At position "
                f"{position}: {finding}.",
            )
    writes(choice, found)
    stage, rise = measures.turned_most(found)
    page.what_to_see(
        "Every part adds to the stream; the final norm divides its length out, and only the direction is read. The "
        "cosine to the final state says how near it is to its end. In the mean over this text it rises most with "
        f"{stages[stage]}, by {rise:.2f}. A cosine below 0 over a bar marks a part that removes some of what it found."
    )
    st.latex(r"\|x_\ell\|_2, \qquad \cos(x_\ell, x_L) = \frac{x_\ell \cdot x_L}{\|x_\ell\|\,\|x_L\|}")
    page.source(measures.angles, measures.stream_shape)
    page.experiment(experiments.shape, reading.model, reading.pasted, TOKENS, position)
    st.caption(
        "Growth of the stream with depth, and why a norm before each sublayer keeps it harmless: arXiv:2002.04745, "
        "section 3. The stream as a bus that layers read from and write to: arXiv:2211.00593, section 2."
    )
    page.question(
        "Suppose that later layers write vectors of larger norm. Are they therefore more important?",
        "Not by their norm alone. The final norm divides by the length of the sum, so what counts for one token's "
        "logit is the component in its direction: direct logit attribution, the first section. An early write may be "
        "short, but every later layer reads it.",
    )


def writes(choice: Choice, found: StreamShape) -> None:
    """What each part adds at the chosen position."""
    added, along = found.added[:, choice.position], found.along[:, choice.position]
    names = [_reading.part_name(name, short=True) for name in found.parts]
    longest, least = int(added.argmax()), int(np.argmin(along))
    st.subheader(f"What each part adds at position {choice.position}", anchor=False)
    figure(
        figures.writes_figure(added, along, names, [_reading.role(name) for name in found.parts], 300),
        key="writes",
        height=300,
        min_width=420,
        table=lambda: pd.DataFrame({"part": found.parts, "length": added, "cosine to the stream": along}),
        alt="Norm of what each part adds: "
        + ", ".join(f"{name} {value:.1f}" for name, value in zip(names, added, strict=True))
        + ".",
        caption=f"Bars: norm of what is added to the stream; above them its cosine to the stream it is added to. "
        f"Largest norm: {names[longest]}, {added[longest]:.1f}. Lowest cosine: {names[least]}, {along[least]:+.2f}.",
    )
