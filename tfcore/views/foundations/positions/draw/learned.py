"""Figures of learned position vectors: while they are trained here, and those of a model that was trained on text."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import Panel, heatmap, hundredths, side_by_side
from tfcore.views.foundations.positions.measure.learned import LearnedPositions, PositionTable

COLOURS = ("@cat0", "@cat1", "@cat2")  # of the principal components


def learned_figure(result: LearnedPositions, look: int, height: int) -> go.Figure:
    """The learned table, the cosine between its rows, and where the head looks on average."""
    scale = float(np.abs(result.tables).max())  # of the whole run, so that training can be compared with its start
    return _panels(result.tables[look], scale, result.similarity[look], result.patterns[look], 1.0, height)


def position_table_figure(result: PositionTable, head: int, height: int) -> go.Figure:
    """The position table of a trained model: its first dimensions, and attention averaged over rows of random
    tokens."""
    brightest = float(result.patterns[head][1:].max())  # the first token can look at itself alone
    return _panels(result.shown, result.scale, result.similarity, result.patterns[head], brightest, height)


def _panels(
    table: Float[ndarray, "seq d_model"],
    scale: float,
    similarity: Float[ndarray, "seq seq"],
    pattern: Float[ndarray, "query key"],
    brightest: float,
    height: int,
) -> go.Figure:
    """Heatmaps in whole hundredths, one byte a cell."""
    seq, d_model = table.shape
    vectors = heatmap(
        hundredths(np.clip(table / scale, -1, 1)),
        "@signed",
        -100,
        100,
        f"position %{{y}}, dimension %{{x}}: %{{z}} % of {scale:.2f}",
    )
    cosines = heatmap(
        hundredths(similarity), "@signed", -100, 100, "cosine of positions %{y} and %{x}: %{z} hundredths"
    )
    weights = heatmap(
        hundredths(pattern),
        "@weights",
        0,
        max(1, round(100 * brightest)),
        "query position %{y}, key position %{x}: %{z} %",
    )
    panels: list[Panel] = [
        (vectors, f"position vectors, % of {scale:.2f}", "dimension", {"title": "position"}, d_model),
        (cosines, "cosine of two, hundredths", "position", {"title": "position"}, seq),
        (weights, "attention, %", "key", {"title": "query"}, seq),
    ]
    return side_by_side(panels, seq, height)


def waves_figure(result: PositionTable, height: int) -> go.Figure:
    """All positions along the directions in which their vectors vary most."""
    n = len(result.waves)
    positions = np.arange(n, dtype=np.float32)
    traces = [
        kit.line(
            positions,
            np.ascontiguousarray(result.waves[:, i]),
            colour,
            name=f"{i + 1}: {100 * share:.0f} % of the variance",
            hover="position %{x}: %{y:.2f}",
        )
        for i, (share, colour) in enumerate(zip(result.explained, COLOURS, strict=True))
    ]
    largest = 1.08 * float(np.abs(result.waves).max())
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("position", [0, n - 1]),
        yaxis=kit.axis("along the direction", [-largest, largest]),
        showlegend=True,
    )
    return theme.build(traces, layout)
