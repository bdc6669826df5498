"""Figures of linear-time mixers: matrices, states, recall by pairs and by the size of the state, and time by length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.alike import NetworkStyle
from tfcore.charts.tokens import MOST_LABELS, token_heatmap
from tfcore.training.alike import Repeats, SeedRange, accuracy_ranges
from tfcore.training.mixing import lengths
from tfcore.training.mixing.comparison import NAMED, SWEPT, MixedKind
from tfcore.training.mixing.lengths import Form, LengthConfig, TimedLengths
from tfcore.views.foundations.linear.measure import PAIRS, ROWS_OF_RECALL, CarriedState, RecallRow, StoredPairs

STYLES: dict[MixedKind, NetworkStyle] = {
    "attention": NetworkStyle("@attention", "square", "solid"),
    "linear": NetworkStyle("@cat0", "circle", "dot"),
    "decay": NetworkStyle("@cat3", "triangle-down", "dash"),
    "gated": NetworkStyle("@cat4", "triangle-up", "dashdot"),
    "ssm": NetworkStyle("@cat2", "diamond", "dash"),
    "delta": NetworkStyle("@cat1", "cross", "solid"),
    "gated delta": NetworkStyle("@cat5", "star", "solid"),
    "conv": NetworkStyle("@muted", "x", "dot"),
    "first": NetworkStyle("@cat7", "hexagon", "dash"),
    "third": NetworkStyle("@cat6", "pentagon", "dashdot"),
}
FORM_NAMES: dict[Form, str] = {
    "attention": "softmax attention",
    "matrix": "as a matrix",
    "chunked": "in chunks",
    "recurrent": "token by token",
}
FORM_STYLES: dict[Form, NetworkStyle] = {
    "attention": STYLES["attention"],
    "matrix": NetworkStyle("@cat0", "circle", "dot"),
    "chunked": NetworkStyle("@cat1", "cross", "solid"),
    "recurrent": NetworkStyle("@cat2", "diamond", "dash"),
}
RECALL_NAMES: dict[RecallRow, str] = {"softmax": "softmax", "linear": "sums", "delta": "delta rule"}
RECALL_STYLES: dict[RecallRow, NetworkStyle] = {
    "softmax": STYLES["attention"],
    "linear": STYLES["linear"],
    "delta": STYLES["delta"],
}


def matrix_figure(matrix: Float[ndarray, "query key"], labels: Sequence[str], weights: bool, height: int) -> go.Figure:
    """A (query, key) matrix: weights from 0 to 1, or signed numbers with 0 in the middle, as far as those of the first
    token, a sink in many heads, do not set the scale."""
    most = 1.0 if weights else float(np.abs(matrix[1:, 1:]).max(initial=0)) or float(np.abs(matrix).max()) or 1.0
    later = np.triu(np.ones(matrix.shape, dtype=bool), 1)
    return token_heatmap(
        matrix,
        labels,
        blocked=later,
        scale="@weights" if weights else "@signed",
        zmin=0.0 if weights else -most,
        zmax=most,
        hover="%{y} has %{z:.3g} of the value of %{x}",
        most_keys=10,
        height=height,
    )


def state_figure(state: Float[ndarray, "row d_value"], most: float, rows: str, height: int) -> go.Figure:
    """The numbers of a state, on one scale for all tokens of the text."""
    cells = kit.cells(
        np.asarray(state, dtype=np.float32),
        "@signed",
        -most,
        most,
        hover=f"{rows} %{{y}}, value channel %{{x}}: %{{z:.3g}}",
        colorbar=kit.colour_bar(),
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("value channel", fixed=True, grid=False),
        yaxis=kit.axis(rows, fixed=True, grid=False, autorange="reversed"),
        margin={"t": 16, "l": 56},
    )
    return theme.build([cells], layout)


def held_figure(held: Float[ndarray, " token"], labels: Sequence[str], token: int, height: int) -> go.Figure:
    """What each token's key reads out of the state after one token: the cosine with its value."""
    bars = kit.bars(
        list(range(token + 1)),
        held[: token + 1],
        "@value",
        text=list(labels[: token + 1]),
        textposition="none",
        hover="%{text}: cosine %{y:.2f}",
    )
    layout = theme.base_layout(
        height,
        xaxis=_tokens(labels),
        yaxis=kit.axis("cosine with its value", [-1.05, 1.05], fixed=True, zero=True),
        margin={"t": 16, "l": 56, "b": 80},
    )
    return theme.build([bars], layout)


def carried_figure(carried: CarriedState, labels: Sequence[str], token: int, height: int) -> go.Figure:
    """Norms by token: of the state, of what was written and of what was lost."""
    places, named = list(range(len(labels))), list(labels)
    curves = (
        ("state", carried.norms, "@residual", "solid"),
        ("written", carried.written, "@value", "dash"),
        ("faded or erased", carried.lost, "@cat0", "dot"),
    )
    data = [
        kit.line(places, y, colour, name=name, width=2, dash=dash, text=named, hover=f"%{{text}}: {name} %{{y:.3g}}")
        for name, y, colour, dash in curves
    ]
    layout = theme.base_layout(
        height,
        xaxis=_tokens(labels),
        yaxis=kit.axis("norm", fixed=True, rangemode="tozero"),
        shapes=[kit.upright(token, dash="dot")],
        margin={"t": 40, "l": 56, "b": 80},
    )
    return theme.build(data, layout)


def _tokens(labels: Sequence[str]) -> dict[str, Any]:
    """An axis with a token at each whole number, not all of them named where they are many."""
    every = -(-len(labels) // MOST_LABELS)
    places = list(range(0, len(labels), every))
    return kit.axis(
        None,
        [-0.6, len(labels) - 0.4],
        fixed=True,
        grid=False,
        tickvals=places,
        ticktext=[labels[i] for i in places],
        tickangle=-60,
        tickfont={"family": theme.MONO, "size": 11, "color": "@ink"},
    )


def pairs_figure(stored: StoredPairs, height: int) -> go.Figure:
    """The share of values that come back right, by how many pairs were stored."""
    data = [
        _marked(
            PAIRS, shares, RECALL_NAMES[row], RECALL_STYLES[row], f"{RECALL_NAMES[row]}, %{{x}} pairs: %{{y:.0%}} right"
        )
        for row, shares in zip(ROWS_OF_RECALL, stored.right, strict=True)
    ]
    layout = theme.base_layout(
        height,
        xaxis=_logarithmic("pairs stored", PAIRS),
        yaxis=kit.axis("values read back right", [-0.03, 1.05], fixed=True, tickformat=".0%"),
        shapes=[kit.upright(stored.d_key, dash="dot")],
        annotations=[
            kit.note("d_key", float(np.log10(stored.d_key)), 0.02, xanchor="left", yanchor="bottom", paper="y")
        ],
        margin={"t": 40},
    )
    return theme.build(data, layout)


def sizes_figure(sizes: dict[int, Repeats], attention: SeedRange, numbers: Sequence[int], height: int) -> go.Figure:
    """The share of right tokens of trained networks, by the numbers of their state: means, and bars from the lowest to
    the highest of all seeds; attention, which has none, as a line across."""
    ranges = [accuracy_ranges(repeats, SWEPT) for repeats in sizes.values()]
    data = []
    for kind in SWEPT:
        mine = [one[kind] for one in ranges]
        means = [one.mean for one in mine]
        trace = _marked(numbers, means, NAMED[kind], STYLES[kind], f"{NAMED[kind]}, %{{x}} numbers: %{{y:.0%}} right")
        up, down = [one.high - one.mean for one in mine], [one.mean - one.low for one in mine]
        bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.2, "width": 3}
        data.append({**trace, "error_y": {**bars, "color": STYLES[kind].colour}})
    ends = [numbers[0] / 1.2, numbers[-1] * 1.2]
    style = STYLES["attention"]
    across = kit.line(
        ends, [attention.mean] * 2, style.colour, name=NAMED["attention"], width=2, hover="attention: %{y:.0%} right"
    )
    layout = theme.base_layout(
        height,
        xaxis=_logarithmic("numbers of the state", numbers),
        yaxis=kit.axis("right answers", [-0.03, 1.05], fixed=True, tickformat=".0%"),
        margin={"t": 56},
    )
    return theme.build([across, *data], layout)


def lengths_figure(timed: TimedLengths, height: int) -> go.Figure:
    """Milliseconds of one pass by length, both on logarithmic axes."""
    data = []
    for form, style in FORM_STYLES.items():
        mine = [point for point in timed.points if point.form == form]
        x, y = [point.n for point in mine], [1e3 * point.seconds for point in mine]
        data.append(_marked(x, y, FORM_NAMES[form], style, f"{FORM_NAMES[form]}, %{{x:,}} tokens: %{{y:.3g}} ms"))
    times = [time for trace in data for time in trace["y"]] or [1.0]
    layout = theme.base_layout(
        height,
        xaxis=_logarithmic("tokens", lengths.LENGTHS),
        yaxis=_powers("milliseconds", min(times), max(times)),
        margin={"t": 56},
    )
    return theme.build(data, layout)


def memory_figure(config: LengthConfig, height: int) -> go.Figure:
    """Numbers that are kept for the next token, by length: keys and values, or one state."""
    data = []
    kept: dict[Form, str] = {"attention": "keys and values", "recurrent": "state"}
    for form, name in kept.items():
        y = [config.kept_numbers(form, n) for n in lengths.LENGTHS]
        data.append(_marked(lengths.LENGTHS, y, name, FORM_STYLES[form], f"{name}, %{{x:,}} tokens: %{{y:,}} numbers"))
    low, high = (end([y for trace in data for y in trace["y"]]) for end in (min, max))
    layout = theme.base_layout(
        height,
        xaxis=_logarithmic("tokens", lengths.LENGTHS),
        yaxis=_powers("numbers kept", low, high),
        margin={"t": 40},
    )
    return theme.build(data, layout)


def _marked(x: Sequence[int], y: Any, name: str, style: NetworkStyle, hover: str) -> dict[str, Any]:
    marks = {"color": style.colour, "size": 8, "symbol": style.symbol}
    shares = np.asarray(y, dtype=float)
    return kit.line(list(x), shares, style.colour, name=name, width=2, dash=style.dash, hover=hover, marks=marks)


def _logarithmic(title: str, ticks: Sequence[int]) -> dict[str, Any]:
    """An axis of powers of two."""
    ends = [float(np.log10(ticks[0] / 1.2)), float(np.log10(ticks[-1] * 1.2))]
    words = [f"{tick:,}" for tick in ticks]
    return kit.axis(title, ends, log=True, fixed=True, tickvals=list(ticks), ticktext=words)


def _powers(title: str, low: float, high: float) -> dict[str, Any]:
    """An axis over powers of ten."""
    ends = [float(np.floor(np.log10(low) - 0.05)), float(np.ceil(np.log10(high) + 0.05))]
    powers = range(int(ends[0]), int(ends[1]) + 1)
    words = [f"{10**power:,}" if power >= 0 else f"{10.0**power:g}" for power in powers]
    return kit.axis(title, ends, log=True, fixed=True, tickvals=[10.0**power for power in powers], ticktext=words)
