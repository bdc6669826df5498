"""Pictures of a sound that a model hears: attention above a spectrogram, tokens by time, an encoder's map."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from jaxtyping import Float, Int, UInt8
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import full_colour, heatmap
from tfcore.charts.tokens import label_room, token_axis
from tfcore.sounds import TOP, mel

COLUMNS = 750  # of a picture by time, beyond which neighbours share one
MARKS = (250, 500, 1_000, 2_000, 4_000)  # hertz
TITLE = "time (s)"
RANGE = 2.0  # of a log-mel spectrogram, which spans 8 powers of ten in quarters
SPLIT = 0.66  # share of the height that the spectrogram has
ROW = 19  # pixels of a token's row
LONGEST = 620  # pixels of a map; rows get lower where it would be taller


def pooled(values: Float[ndarray, "row column"], most: int = COLUMNS) -> tuple[Float[ndarray, "row new"], int]:
    """The means of so many neighbouring columns that at most `most` are left, and how many that is."""
    every = math.ceil(values.shape[1] / most)
    starts = np.arange(0, values.shape[1], every)
    counts = np.diff([*starts, values.shape[1]])
    return np.add.reduceat(values, starts, axis=1) / counts, every


def bytes_of(values: Float[ndarray, "row column"], high: float) -> UInt8[ndarray, "row column"]:
    """Values from 0 on as 0 to 255, one byte each."""
    return np.round(values / high * 255).clip(0, 255).astype(np.uint8)


def _over_time(
    values: Float[ndarray, "row column"], high: float, scale: str, hover: str, seconds: float, **more: Any
) -> dict[str, Any]:
    """Cells from 0 to `high`, a column every so many seconds; `more` are further properties of the trace."""
    where = {"x0": seconds / 2, "dx": seconds, **more}
    return heatmap(bytes_of(values, high), scale, 0, 255, hover, showscale=False, **where)


def over_spectrogram(
    spectrogram: Float[ndarray, "mel frame"],
    seconds: float,
    weights: Float[ndarray, " place"],
    followed: Float[ndarray, " place"],
    names: tuple[str, str],
    at: float,
    height: int,
) -> go.Figure:
    """A head's weights over time, above the spectrogram of what it hears.

    Args:
        seconds: of a place.
        followed: the mean of other heads, drawn thin.
        names: of the head, and of that mean.
        at: the second that is marked: where it was said.
    """
    columns, every = pooled(spectrogram)
    frame = seconds * len(weights) / spectrogram.shape[1]
    top = float(columns.max())
    shown = _over_time(columns - top + RANGE, RANGE, "@seq:embedding", "%{x:.2f} s, band %{y}", frame * every)
    time = ((np.arange(len(weights)) + 0.5) * seconds).astype(np.float32)
    hover = "%{x:.2f} s: weight %{y:.3f}"
    above: dict[str, Any] = {"yaxis": "y2"}
    own = kit.line(
        time,
        weights.astype(np.float32),
        "@attention",
        name=names[0],
        width=2,
        hover=hover,
        fill="tozeroy",
        fillcolor="@attention/0.25",
        **above,
    )
    mean = kit.line(time, followed.astype(np.float32), "@key", name=names[1], width=1.2, hover=hover, **above)
    n = len(columns)
    marks = [float(mel(torch.tensor(float(one))) / mel(torch.tensor(TOP)) * (n + 1) - 1) for one in MARKS]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(TITLE, [0, seconds * len(weights)], grid=False),
        yaxis=kit.axis(
            "pitch (Hz)",
            [-0.5, n - 0.5],
            grid=False,
            fixed=True,
            domain=[0, SPLIT],
            tickmode="array",
            tickvals=marks,
            ticktext=[f"{one:,}" for one in MARKS],
        ),
        yaxis2=kit.axis(
            "weight",
            [0, 1.1 * max(float(weights.max()), float(followed.max()), 1e-6)],
            fixed=True,
            domain=[SPLIT + 0.04, 1],
            nticks=4,
        ),
        shapes=[kit.upright(at, "@query", width=2, below=False)],
        margin={"t": 30, "r": 8},
    )
    return theme.build([shown, own, mean], layout)


def tokens_by_time(
    weights: Float[ndarray, "piece place"],
    seconds: float,
    labels: Sequence[str],
    said: Int[ndarray, " word"],
    chosen: int,
) -> go.Figure:
    """What was written, a row each, by where a decoder looked in time, and where each piece was said.

    Args:
        seconds: of a place.
        labels: of the pieces, safe for plotly.
        said: the place of each piece but the last, where that ends the text.
        chosen: the piece that is looked at.
    """
    columns, every = pooled(weights)
    largest = float(columns.max()) or 1.0
    cells = _over_time(columns, largest, "@weights", "'%{y}' at %{x:.2f} s", seconds * every)
    places = kit.dots(
        ((said + 0.5) * seconds).astype(np.float32),
        np.arange(len(said)),
        "@query",
        size=7,
        symbol="line-ns-open",
        hover="said at %{x:.2f} s",
    )
    n = len(labels)
    left = label_room(labels)
    height = min(LONGEST, ROW * n + 64)
    every_row = max(1, math.ceil(n * 13 / (height - 64)))
    rows = list(range(0, n, every_row))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(TITLE, [0, seconds * weights.shape[1]], grid=False),
        yaxis=kit.axis(
            None,
            [n - 0.5, -0.5],
            grid=False,
            fixed=True,
            automargin=False,
            tickmode="array",
            tickvals=rows,
            ticktext=[labels[i] for i in rows],
            tickfont={"family": theme.MONO, "size": 11, "color": "@ink"},
        ),
        shapes=[kit.box(0, seconds * weights.shape[1], chosen - 0.5, chosen + 0.5, edge="@query", width=2)],
        showlegend=False,
        margin={"l": left + 10, "r": 8, "t": 8},
    )
    return theme.build([cells, places], layout)


def confidence(probabilities: Float[ndarray, " piece"], labels: Sequence[str], chosen: int, height: int) -> go.Figure:
    """The probability of each piece when it was written."""
    places = np.arange(len(labels))
    edge = ["@query" if i == chosen else "rgba(0,0,0,0)" for i in places]
    bars = kit.bars(
        places,
        probabilities.astype(np.float32),
        "@embedding",
        hover="'%{customdata}': %{y:.3f}",
        customdata=list(labels),
        marker={"line": {"color": edge, "width": 2}},
    )
    layout = theme.base_layout(
        height,
        xaxis=token_axis(labels),
        yaxis=kit.axis("probability", [0, 1.02], fixed=True, nticks=5),
        margin={"r": 8, "t": 8, "b": 74},
        bargap=0.2,
    )
    return theme.build([bars], layout)


def encoder_map(weights: Float[ndarray, "query key"], seconds: float, at: int, height: int) -> go.Figure:
    """Where a head of the encoder looks, in time by time.

    Args:
        seconds: of a bin.
        at: the bin whose row is framed.
    """
    hover = "at %{y:.2f} s it looks at %{x:.2f} s"
    largest = full_colour(weights, percentile=99.5)
    cells = _over_time(weights, largest, "@weights", hover, seconds, y0=seconds / 2, dy=seconds)
    end = seconds * len(weights)
    side = {"showgrid": False, "constrain": "domain"}
    layout = theme.base_layout(
        height,
        xaxis={**side, "title": "key: time (s)", "range": [0, end]},
        yaxis={**side, "title": "query: time (s)", "range": [end, 0], "scaleanchor": "x"},
        shapes=[kit.box(0, end, seconds * at, seconds * (at + 1), edge="@query", width=2)],
        showlegend=False,
        margin={"r": 8, "t": 8},
    )
    return theme.build([cells], layout)
