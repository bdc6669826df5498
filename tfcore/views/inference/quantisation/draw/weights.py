"""Figures of rounded weights and activations: a row on its grid, errors by layer and kind, channels with outliers."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.theme import base_layout, build
from tfcore.measures.quantisation.rounded_activations import OUTLIER
from tfcore.views.inference.quantisation.measure.activations import OUTLIER_TEXT, ActivationScan
from tfcore.views.inference.quantisation.measure.gguf_block import BLOCK, OpenedBlock
from tfcore.views.inference.quantisation.measure.weights import MatrixErrors, RowOnGrid

SHOWN = 192  # weights of a row at a time
MOST_LEVELS = 6_000  # lines of a grid; a finer one is drawn as the range of each group
COLOURS = {
    "q": "@query",
    "k": "@key",
    "v": "@value",
    "out": "@attention",
    "gate": "@feedforward",
    "up": "@feedforward",
    "down": "@feedforward",
}
WAY_STYLES = (("@cat1", "solid"), ("@cat1", "dot"), ("@cat0", "solid"), ("@cat0", "dot"))


def row_figure(rounded: RowOnGrid, first: int, height: int) -> go.Figure:
    """Weights of a row as dots, the grid of each group as lines, and from each dot a line to where it is rounded.

    Args:
        first: the first column in sight.
    """
    shown = slice(first, min(first + SHOWN, len(rounded.values)))
    columns = np.arange(shown.start, shown.stop, dtype=np.float32)
    before, after = rounded.values[shown], rounded.rounded[shown]
    ends = 1.08 * float(np.abs(rounded.values[shown]).max() or 1.0)
    colour = COLOURS[rounded.kind]
    data = [
        _segments(*_grid_lines(rounded, shown, ends), "what can be stored", "@muted/0.45", 1),
        _segments(_interleaved(columns, columns), _interleaved(before, after), "rounding error", "@ink", 1.5),
        kit.dots(
            columns,
            before.astype(np.float32),
            colour,
            name="weight",
            size=4,
            hover="column %{x}: %{y:.4f} is stored as %{customdata:.4f}",
            customdata=after.astype(np.float32),
        ),
    ]
    layout = base_layout(
        height,
        xaxis=kit.axis("column of the row", [shown.start - 1, shown.stop], grid=False),
        yaxis=kit.axis("weight", [-ends, ends], grid=False),
        shapes=[_border(place) for place in range(shown.start, shown.stop + 1) if place % rounded.group == 0],
    )
    return build(data, layout)


def _border(column: int) -> dict[str, Any]:
    """A line between two groups."""
    x = column - 0.5
    line = {"color": "@grid", "width": 1}
    return kit.upright(x, None, line=line)


def _grid_lines(rounded: RowOnGrid, shown: slice, ends: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of one line per level and group; of too many levels only the least and the largest."""
    groups = range(shown.start // rounded.group, -(-shown.stop // rounded.group))
    x, y = [], []
    for group in groups if rounded.grid.shape[1] else ():
        levels = rounded.grid[group]
        levels = levels[np.abs(levels) <= ends]
        if len(levels) * len(groups) > MOST_LEVELS:
            levels = levels[[0, -1]]
        left, right = max(group * rounded.group, shown.start) - 0.4, min((group + 1) * rounded.group, shown.stop) - 0.6
        x.append(np.tile(np.array([left, right, np.nan], np.float32), len(levels)))
        y.append(_interleaved(levels, levels))
    return (np.concatenate(x), np.concatenate(y)) if x else (np.zeros(0, np.float32), np.zeros(0, np.float32))


def _interleaved(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """start, end, gap, start, end, gap, ..."""
    return np.stack((starts, ends, np.full(len(starts), np.nan)), 1).ravel().astype(np.float32)


def _segments(x: np.ndarray, y: np.ndarray, name: str, colour: str, width: float) -> dict[str, Any]:
    return kit.line(x, y, colour, name=name, width=width, hover=False)


def errors_figure(matrices: MatrixErrors, height: int) -> go.Figure:
    """Relative error by layer and kind of matrix, the largest framed; a click carries layer and kind."""
    layers, (layer, kind, _) = len(matrices.errors), matrices.worst
    percent = (100 * matrices.errors.T).astype(np.float32)  # (kind, layer)
    row = matrices.kinds.index(kind)
    cells = kit.cells(
        percent,
        "@seq:accent",
        0,
        max(float(percent.max()), 1e-6),
        hover="layer %{x}, W_%{y}: %{z:.3g} %",
        xgap=1,
        ygap=1,
        customdata=[[f"{one}.{name}" for one in range(layers)] for name in matrices.kinds],
        colorbar={"thickness": 10, "outlinewidth": 0, "ticksuffix": " %", "tickfont": {"size": 11, "color": "@muted"}},
    )
    frame = kit.box(layer - 0.5, layer + 0.5, row - 0.5, row + 0.5, edge="@ink", width=2)
    layout = base_layout(
        height,
        margin={"t": 10, "l": 60},
        xaxis=kit.axis("layer", fixed=True, grid=False, dtick=1 if layers <= 32 else 4),
        yaxis=kit.axis(
            None,
            [len(matrices.kinds) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(len(matrices.kinds))),
            ticktext=[f"W_{name}" for name in matrices.kinds],
        ),
        shapes=[frame],
    )
    return build([cells], layout)


def channels_figure(scan: ActivationScan, layer: int, first: bool, height: int) -> go.Figure:
    """The largest magnitude of every channel of one layer's activations, and the line from which it is an outlier."""
    values = (scan.largest if first else scan.without_first)[layer]
    channels = np.arange(len(values), dtype=np.float32)
    top = 1.08 * max(float(values.max()), OUTLIER)
    bars = {
        **_segments(
            _interleaved(channels, channels), _interleaved(np.zeros_like(values), values), "channels", "@residual", 1.5
        ),
        "showlegend": False,
    }
    tips = kit.dots(
        channels, values.astype(np.float32), "@residual", size=3, hover="channel %{x}: %{y:.2f}", showlegend=False
    )
    line = kit.across(OUTLIER, "@accent", width=1.5, dash="dash", below=False)
    note = kit.note(
        f"outlier: {OUTLIER_TEXT}",
        1,
        OUTLIER,
        "@accent",
        paper="x",
        xanchor="right",
        yanchor="bottom",
        bgcolor="@paper/0.8",
    )
    layout = base_layout(
        height,
        margin={"t": 10},
        shapes=[line],
        annotations=[note],
        xaxis=kit.axis("channel", [-1, len(values)], grid=False),
        yaxis=kit.axis("largest magnitude", [0, top]),
    )
    return build([bars, tips], layout)


PERCENT = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def activation_errors_figure(scan: ActivationScan, bits: int, layer: int, height: int) -> go.Figure:
    """The relative error of the activations of every layer, one line for each way to round them."""
    data = [
        kit.line(
            list(range(len(errors))),
            [100 * float(error) for error in errors],
            colour,
            name=way,
            dash=dash,
            width=2,
            marks={"size": 5},
            hovertemplate="layer %{x}: %{y:.3g} %<extra>" + way + "</extra>",
        )
        for (way, errors), (colour, dash) in zip(scan.errors[bits].items(), WAY_STYLES, strict=True)
    ]
    chosen = kit.upright(layer, width=1, dash="dot", below=False)
    layout = base_layout(
        height,
        shapes=[chosen],
        margin={"t": 52},
        xaxis=kit.axis("layer", fixed=True),
        yaxis=kit.axis("relative error, %", log=True, fixed=True, tickvals=PERCENT, ticktext=PERCENT),
    )
    return build(data, layout)


def block_figure(opened_block: OpenedBlock, height: int) -> go.Figure:
    """The 32 values of a block on its 16 levels, each with its integer."""
    places, values = np.arange(BLOCK, dtype=np.float32), opened_block.values.astype(np.float32)
    levels = (opened_block.scale * np.arange(16) + opened_block.minimum).astype(np.float32)
    room = max(float(levels[-1] - levels[0]), 1e-6) * 0.08
    ends = [float(levels[0]) - room, float(levels[-1]) + room]
    lines = np.tile(np.array([-0.7, BLOCK - 0.3, np.nan], np.float32), len(levels))
    data = [
        _segments(lines, _interleaved(levels, levels), "minimum + scale × 0, 1, ... 15", "@muted/0.45", 1),
        kit.dots(
            places,
            opened_block.used.astype(np.float32),
            "@feedforward",
            name="weight the model computes with",
            symbol="circle-open",
            size=21,
            marker={"line": {"width": 2}},
            hover="value %{x}: the model computes with %{y:.5f}",
        ),
        kit.words(
            places,
            values,
            [str(code) for code in opened_block.codes.tolist()],
            "@ink",
            size=12,
            hover="value %{x}: integer %{text}, %{y:.5f}",
            name="integer in the file",
        ),
    ]
    layout = base_layout(
        height,
        xaxis=kit.axis("value in the block", [-0.9, BLOCK - 0.1], fixed=True, grid=False),
        yaxis=kit.axis("weight", ends, fixed=True, grid=False),
    )
    return build(data, layout)
