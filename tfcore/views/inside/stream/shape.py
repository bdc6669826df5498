"""Norm and cosine of the residual stream, and what each part adds to it."""

import pandas as pd

from tfcore.measures.lenses import stage_names
from tfcore.measures.token_text import tick_labels
from tfcore.views.finding import state
from tfcore.views.inside.stream.draw.parts import part_role
from tfcore.views.inside.stream.draw.shape import curves, label_every, writes_figure
from tfcore.views.inside.stream.measure.shape import AXES, Measure, angles, shape_of, stream_shape
from tfcore.views.inside.stream.measure.skip import part_name
from tfcore.views.inside.stream.measure.text import read_of
from tfcore.views.inside.stream.say.shape import stream_curve, written_norms
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view


@view
def shape(reading: Reading, position: int, measure: Measure) -> View:
    """The norm of the stream at each stage, or its cosine to the final state.

    Args:
        position: of the text, whose line is strong.
    """
    stream, tokens = shape_of(reading), read_of(reading).tokens
    values = stream.norm if measure == "norm" else stream.cosine
    limits = None if measure == "norm" else (min(-0.05, float(values.min())), 1.05)
    stages, labels = stage_names(stream.stages), tick_labels(tokens, 10)
    course = stream_curve(stream, measure, tokens[position], position)
    return View(
        key=measure,
        title=AXES[measure].capitalize(),
        result=stream,
        chart=curves(values, stages, labels, position, AXES[measure], height=400, limits=limits),
        described=course,
        findings=(
            state("stages", "At each stage, (stage, position) = {shape}. {course}", shape=values.shape, course=course),
        ),
        table=lambda: pd.DataFrame(values.T, columns=list(stream.stages)).assign(token=tokens),
        formula=r"\|x_\ell\|_2, \qquad \cos(x_\ell, x_L) = \frac{x_\ell \cdot x_L}{\|x_\ell\|\,\|x_L\|}",
        papers=(
            "Growth of the stream with depth, and why a norm before each sublayer keeps it harmless: arXiv:2002.04745, "
            "section 3. The stream as a channel that layers read from and write to: A Mathematical Framework for "
            "Transformer Circuits (2021)."
        ),
        code=(angles, stream_shape),
    )


@view
def added(reading: Reading, position: int) -> View:
    """The update of each part to the stream at one position: its norm, and its cosine to the stream. See shape."""
    stream = shape_of(reading)
    norms, along = stream.added[:, position], stream.along[:, position]
    config = opened(reading.model)[0].config
    names = [part_name(config, name, short=True) for name in stream.parts]
    largest, extremes = written_norms(stream, position, names)
    return View(
        key="writes",
        title="What each part adds",
        result=stream,
        chart=writes_figure(norms, along, names, [part_role(name) for name in names], height=300),
        min_width=350,
        described=largest,
        findings=(
            state(
                "added",
                "Bars: norm of what is added to the stream; {where} its cosine to the stream it is added to. "
                "{extremes}",
                where="above them" if label_every(len(stream.parts)) == 1 else "under the pointer",
                extremes=extremes,
            ),
        ),
        table=lambda: pd.DataFrame({"part": stream.parts, "length": norms, "cosine to the stream": along}),
    )
