"""Figures of recurrent networks beside a Transformer."""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.alike import NetworkStyle
from tfcore.training.recurrent.alignment import LENGTHS as TESTED_LENGTHS
from tfcore.training.recurrent.alignment import TRAINED, AlignmentEvaluation
from tfcore.training.recurrent.comparison import TaskName
from tfcore.training.recurrent.gradients import Arriving
from tfcore.training.recurrent.networks import KINDS, NAMES, Kind
from tfcore.training.recurrent.passes import LENGTHS, Passes
from tfcore.training.recurrent.real_model import RealGradient

STYLES: dict[Kind, NetworkStyle] = {
    "rnn": NetworkStyle("@cat1", "diamond", "dash"),
    "lstm": NetworkStyle("@cat2", "circle", "dot"),
    "transformer": NetworkStyle("@attention", "square", "solid"),
}
MARKS = 16  # at most, of a product over its curve
SPAN = (-20, 6)  # powers of ten on the axis of gradients; what is smaller leaves the picture


def gradient_figure(arriving: Sequence[Arriving], real: RealGradient, height: int) -> go.Figure:
    """Gradients by distance as lines, products of Jacobians as open marks over them, the cell state's part thin; those
    of a real model beside them."""
    thin = {"color": "@ink", "width": 1.5}
    data = [_curve(np.arange(len(real.measured)), real.measured, real.name, thin, f"{real.name}, %{{x}}: %{{y:.2e}}")]
    for one in arriving:
        name, colour = NAMES[one.kind], STYLES[one.kind].colour
        distances = np.arange(len(one.measured))
        line = {"color": colour, "width": 3}
        data.append(_curve(distances, one.measured, name, line, f"{name}, %{{x}} steps back: %{{y:.2e}}"))
        if one.product is not None:
            every = max(1, -(-len(distances) // MARKS))
            data.append(
                {
                    **_curve(distances[::every], one.product[::every], f"{name}, product of Jacobians", {}, "%{y:.2e}"),
                    "mode": "markers",
                    "marker": {
                        "symbol": f"{STYLES[one.kind].symbol}-open",
                        "size": 10,
                        "color": colour,
                        "line": {"width": 2, "color": colour},
                    },
                }
            )
        if one.cell is not None:
            dotted = {"color": colour, "width": 1.5, "dash": "dot"}
            data.append(_curve(distances, one.cell, f"{name}, cell state alone", dotted, "cell state alone: %{y:.2e}"))
    powers = range(SPAN[0], SPAN[1] + 1, 4)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("distance d: tokens back from the output", [-0.5, len(arriving[0].measured) - 0.5], fixed=True),
        yaxis=kit.axis(
            "norm of the gradient",
            list(SPAN),
            log=True,
            fixed=True,
            tickvals=[10.0**power for power in powers],
            ticktext=[f"10<sup>{power}</sup>" for power in powers],
        ),
        margin={"t": 64, "l": 64},
    )
    return theme.build(data, layout)


PLACES: dict[TaskName, str] = {
    "copy": "letter of the copy",
    "recall": "distance of the marked letter",
    "addition": "place of the sum",
    "characters": "characters read",
}


def passes_figure(timed: Passes, height: int) -> go.Figure:
    """Milliseconds of one pass by the length of the sequence, both on logarithmic axes."""
    data: list[dict[str, Any]] = []
    for kind in KINDS:
        mine = [point for point in timed.points if point.kind == kind]
        data.append(
            {
                **_curve(
                    [point.n for point in mine],
                    [1e3 * point.seconds for point in mine],
                    NAMES[kind],
                    {"color": STYLES[kind].colour, "width": 2, "dash": STYLES[kind].dash},
                    f"{NAMES[kind]}, %{{x:,}} tokens: %{{y:.3g}} ms",
                ),
                "mode": "lines+markers",
                "marker": {"color": STYLES[kind].colour, "size": 9, "symbol": STYLES[kind].symbol},
            }
        )
    times = [time for trace in data for time in trace["y"]] or [1.0]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "tokens of the sequence",
            [np.log10(LENGTHS[0] / 1.2), np.log10(LENGTHS[-1] * 1.2)],
            log=True,
            fixed=True,
            tickvals=list(LENGTHS),
            ticktext=[f"{n:,}" for n in LENGTHS],
        ),
        yaxis=kit.axis(
            "milliseconds",
            [min(-1.0, float(np.log10(min(times))) - 0.1), max(3.0, float(np.log10(max(times))) + 0.1)],
            log=True,
            fixed=True,
            tickvals=[0.1, 1, 10, 100, 1000, 10_000],
            ticktext=["0.1", "1", "10", "100", "1,000", "10,000"],
        ),
        margin={"t": 40},
    )
    return theme.build(data, layout)


def length_figure(look: AlignmentEvaluation, attention: bool, height: int) -> go.Figure:
    """Right letters by length, from one vector and, where it is switched on, with attention; the lengths of training
    are shaded."""
    sides = (
        ("one vector", look.plain, "@cat1", "dash", "diamond"),
        ("attention", look.attending, "@attention", "solid", "square"),
    )
    data = [
        {
            **_curve(
                TESTED_LENGTHS,
                side.by_length,
                name,
                {"color": colour, "width": 2, "dash": dash},
                f"{name}, %{{x}} letters: %{{y:.0%}} right",
            ),
            "mode": "lines+markers",
            "marker": {"color": colour, "size": 8, "symbol": symbol},
        }
        for name, side, colour, dash, symbol in sides[: 1 + attention]
    ]
    low, high = TRAINED
    shaded = kit.box(
        low,
        high,
        0,
        1,
        "@muted/0.1",
        width=0,
        below=True,
        paper="y",
        xref="x",
        label={"text": "trained on", "textposition": "bottom left", "font": {"size": 12, "color": "@muted"}},
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "letters of the row", [1.4, TESTED_LENGTHS[-1] + 0.6], fixed=True, tickvals=list(TESTED_LENGTHS)
        ),
        yaxis=kit.axis("right letters", [-0.03, 1.05], fixed=True, tickformat=".0%"),
        shapes=[shaded],
        margin={"t": 40},
    )
    return theme.build(data, layout)


def alignment_figure(look: AlignmentEvaluation, height: int) -> go.Figure:
    """The weight on every letter read (columns) while each letter is written (rows)."""
    names = ascii_lowercase
    read, wrote = [names[i] for i in look.read], [names[i] for i in look.wrote]
    hover = [
        [f"writing {w!r}: {look.alignment[i, j]:.2f} on {r!r}" for j, r in enumerate(read)] for i, w in enumerate(wrote)
    ]
    cells = kit.cells(look.alignment, "@weights", 0, 1, hover="%{text}", showscale=False, xgap=1, ygap=1, text=hover)
    axis = {"fixedrange": True, "showgrid": False, "tickfont": {"family": theme.MONO, "size": 14, "color": "@ink"}}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": "letters read", "tickvals": list(range(len(read))), "ticktext": read, "side": "top"},
        yaxis={
            **axis,
            "title": "letters written",
            "tickvals": list(range(len(wrote))),
            "ticktext": wrote,
            "autorange": "reversed",
        },
        margin={"t": 64, "b": 16},
    )
    return theme.build([cells], layout)


def _curve(x: Any, y: Any, name: str, line: dict[str, Any], hover: str) -> dict[str, Any]:
    return kit.line(x, np.asarray(y, dtype=float), name=name, hover=hover, line=line)
