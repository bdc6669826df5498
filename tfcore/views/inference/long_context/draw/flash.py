"""Pictures of flash attention: the tiles of a score matrix as they are visited, and the numbers moved for them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import KEY, QUERY, hatch, label_room, ticks
from tfcore.views.inference.long_context.draw.cost import powers_axis
from tfcore.views.inference.long_context.measure.flash import FlashRun
from tfcore.views.inference.long_context.measure.traffic import MemoryTraffic

PARTS = {
    "Q": "@query",
    "K, V": "@key",
    "scores": "@attention",
    "weights": "@attention/0.55",
    "output": "@residual",
    "m and l": "@norm",
}
NAIVE, TILED, THEORY = "@cat1", "@cat0", "@ink"


def tiles_figure(run: FlashRun, tile: int, labels: Sequence[str], height: int) -> go.Figure:
    """The score matrix in tiles: the one at hand in colour, those gone by in grey, those skipped hatched.

    Args:
        tile: which one is at hand.
        labels: the tokens.
    """
    n = len(labels)
    gone, now, skipped = (np.zeros((n, n), dtype=bool) for _ in range(3))
    skipped[:] = True
    for i, (top, bottom, left, right) in enumerate(run.tiles):
        skipped[top:bottom, left:right] = False
        (gone if i < tile else now)[top:bottom, left:right] = i <= tile
    x, y = hatch(skipped)
    bright = np.sqrt(run.pattern)  # small weights are still seen
    hover = "%{customdata:.3f}<extra></extra>"
    data = [
        _weights(np.where(gone, bright, np.nan), run.pattern, "@seq:norm", "gone again: " + hover),
        _weights(np.where(now, bright, np.nan), run.pattern, "@weights", "weight in the end: " + hover),
        kit.line(x, y, "@muted/0.5", width=1, hover=False, showlegend=False),
    ]
    edges = run.tiles - 0.5
    top, bottom, left, right = edges[tile].tolist()
    shapes = [_box(a, b, c, d, "@muted/0.5", 1) for a, b, c, d in edges.tolist()]
    shapes += [
        _box(top, bottom, -0.5, n - 0.5, "@query/0", 0, "@query/0.14"),
        _box(-0.5, n - 0.5, left, right, "@key/0", 0, "@key/0.14"),
        _box(run.row - 0.5, run.row + 0.5, -0.5, n - 0.5, "@query", 1.5),
        _box(top, bottom, left, right, "@ink", 3),
    ]
    axis = {"showgrid": False, "fixedrange": True, "automargin": False}
    room, below = label_room(labels), label_room(labels, 60)
    layout = theme.base_layout(
        height,
        shapes=shapes,
        margin={"l": room + 26, "r": 8, "t": 12, "b": below + 26},
        xaxis={
            **axis,
            **ticks(labels),
            "range": [-0.5, n - 0.5],
            "tickangle": -60,
            "title": {"text": KEY, "standoff": 4},
        },
        yaxis={**axis, **ticks(labels, 34), "range": [n - 0.5, -0.5], "title": {"text": QUERY, "standoff": 4}},
    )
    return theme.build(data, layout)


def _weights(shown: ndarray, pattern: ndarray, scale: str, hover: str) -> dict[str, Any]:
    return kit.cells(
        shown.astype(np.float32),
        scale,
        0,
        1,
        customdata=pattern.astype(np.float32),
        showscale=False,
        hoverongaps=False,
        hovertemplate=hover,
    )


def _box(
    top: float, bottom: float, left: float, right: float, colour: str, width: float, fill: str | None = None
) -> dict[str, Any]:
    box = kit.box(left, right, top, bottom, edge=colour, width=width)
    return box | ({"fillcolor": fill, "layer": "below"} if fill else {})


def traffic_figure(naive: MemoryTraffic, tiled: MemoryTraffic, bytes_each: int, height: int) -> go.Figure:
    """Bars of what is read and written, by standard attention and in tiles, stacked by what it is."""
    rows = [
        ("plain: read", naive.reads),
        ("plain: written", naive.writes),
        ("tiles: read", tiled.reads),
        ("tiles: written", tiled.writes),
    ]
    data = [
        kit.bars(
            [float(bytes_each * moved.get(part, 0)) for _, moved in rows],
            [name for name, _ in rows],
            colour,
            name=part,
            orientation="h",
            hovertemplate="%{y}, " + part + ": %{x:.3s}B<extra></extra>",
        )
        for part, colour in PARTS.items()
    ]
    layout = theme.base_layout(
        height,
        barmode="stack",
        bargap=0.25,
        xaxis=kit.axis("bytes moved for one head", fixed=True, exponentformat="SI", ticksuffix="B"),
        yaxis=kit.axis(fixed=True, autorange="reversed"),
        legend={"traceorder": "normal"},
        margin={"t": 40},
    )
    return theme.build(data, layout)


def sram_figure(
    sizes: Sequence[float], counted: Sequence[float], formula: Sequence[float], naive: float, at: int, height: int
) -> go.Figure:
    """Bytes moved against the size of SRAM: counted as marks, the theorem as a line, standard attention as another.

    Args:
        sizes: of SRAM in kilobytes.
        counted, formula: bytes; inf where the theorem does not hold.
        naive: bytes, whatever the size.
        at: which size is chosen.
    """
    x, y = np.array(sizes), np.array(counted)
    known = np.where(np.isfinite(formula), formula, np.nan)
    data = [
        kit.line(
            x,
            np.full(len(x), naive),
            NAIVE,
            name="standard attention",
            width=2.5,
            hover="standard attention: %{y:.3s}B",
        ),
        kit.line(x, known, THEORY, name="c n²d² ÷ M", width=1.5, dash="dash", hover="formula: %{y:.3s}B"),
        kit.dots(
            x,
            y,
            TILED,
            name="tiles, counted",
            size=[14 if i == at else 8 for i in range(len(x))],
            hover="%{x:.0f} kB of SRAM: %{y:.3s}B<extra>counted</extra>",
        ),
    ]
    ends = np.log10([x[0], x[-1]])
    every = np.concatenate((y, [naive], known[np.isfinite(known)]))
    layout = theme.base_layout(
        height,
        margin={"t": 40},
        yaxis=powers_axis("bytes moved", every),
        xaxis=kit.axis(
            "SRAM, kB",
            [ends[0] - 0.08, ends[1] + 0.08],
            log=True,
            fixed=True,
            tickvals=[size for size in x if math.log2(size / x[0]).is_integer()],
            ticktext=[f"{size:g}" for size in x if math.log2(size / x[0]).is_integer()],
        ),
    )
    return theme.build(data, layout)
