"""Figures of how one product is split into heads, and of which query heads share KV heads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.theme import base_layout, build
from tfcore.charts.tiles import tiles
from tfcore.charts.tokens import ticks
from tfcore.views.foundations.heads.measure.head_splits import HeadSplit, SharedKV

LIMIT = 4.0  # of the colour scale of q, k and v
PARTS = (("queries", "@query"), ("keys", "@key"), ("values", "@value"))


def product_figure(split: HeadSplit, n_heads: int, labels: Sequence[str], height: int) -> go.Figure:
    """x W_QKV as it comes out of one product, with lines where it is cut into heads."""
    edges = np.cumsum((0, *split.widths))
    shapes: list[dict[str, Any]] = []
    notes = []
    for (name, colour), start, end in zip(PARTS, edges, edges[1:], strict=False):
        own = end - start == split.widths[0]  # fewer KV heads are shared: what a cut makes of them is no reshape
        inner = np.linspace(start, end, n_heads + 1) if own else np.array((start, end))
        shapes += [kit.upright(float(x) - 0.5, "@ink/0.7", width=1, below=False) for x in inner]
        shapes.append(kit.box(float(start) - 0.5, float(end) - 0.5, 1.01, 1.05, colour, width=0, paper="y"))
        notes.append(
            kit.note(
                f"{name}: {n_heads} x {(end - start) // n_heads}" if own else f"{name}: {end - start}, shared",
                float(start + end) / 2,
                1.06,
                colour,
                paper="y",
                yanchor="bottom",
            )
        )
    trace = kit.cells(
        np.clip(np.round(split.product / LIMIT * 127), -127, 127).astype(np.int8),
        "@signed",
        -127,
        127,
        hover=False,
        showscale=False,
    )
    layout = base_layout(
        height,
        xaxis=kit.axis("column of the product", [-0.5, edges[-1] - 0.5], grid=False),
        yaxis={**ticks(labels, 12), "range": [len(labels) - 0.5, -0.5], "showgrid": False},
        margin={"t": 40},
        shapes=shapes,
        annotations=notes,
    )
    return build([trace], layout)


def split_figure(maps: Any, d_head: int, height: int) -> go.Figure:
    """The maps of all heads of a cut, in rows of equal length, at most eight."""
    n = len(maps)
    columns = -(-n // -(-n // 8))
    titles = [f"<b>head {i}</b><br>{d_head} dimensions" for i in range(n)]
    hovers = [f"head {i}: {d_head} dimensions" for i in range(n)]
    return tiles(maps, titles, columns, hovers=hovers, height=height)


def sharing_figure(shared: Sequence[SharedKV], height: int) -> go.Figure:
    """Per variant: query heads above, the key/value heads they share below."""
    n_heads = shared[0].n_heads
    traces: list[dict[str, Any]] = []
    notes = []
    for place, variant in enumerate(shared):
        left, group = place * (n_heads + 1.5), n_heads // variant.kv_heads
        below = [left + (g + 0.5) * group - 0.5 for g in range(variant.kv_heads)]
        lines_x = [x for head in range(n_heads) for x in (left + head, below[head // group], None)]
        traces += [
            kit.line(lines_x, [1, 0, None] * n_heads, "@muted", width=1.5, hover=False),
            _squares([left + head for head in range(n_heads)], 1, "@query", "query head %{customdata}"),
            _squares(below, 0, "@key", "KV head %{customdata}"),
        ]
        notes.append(
            kit.note(
                f"<b>{variant.kind}</b>: {variant.kv_heads} for {n_heads}",
                left + (n_heads - 1) / 2,
                1.45,
                "@ink",
                size=13,
            )
        )
    layout = base_layout(
        height,
        xaxis=kit.axis(None, [-1, len(shared) * (n_heads + 1.5) - 1.5], fixed=True, visible=False),
        yaxis=kit.axis(
            None, [-0.4, 1.7], fixed=True, grid=False, tickvals=[0, 1], ticktext=["keys, values", "queries"]
        ),
        showlegend=False,
        annotations=notes,
        margin={"t": 8, "b": 8},
    )
    return build(traces, layout)


def _squares(x: list[float], y: float, colour: str, hover: str) -> dict[str, Any]:
    return kit.dots(x, [y] * len(x), colour, symbol="square", size=16, hover=hover, customdata=list(range(len(x))))


def shared_maps_figure(shared: Sequence[SharedKV], layer: int, height: int) -> go.Figure:
    """The maps of all heads of a layer, a row for each variant."""
    n_heads = shared[0].n_heads
    maps = np.concatenate([variant.patterns[layer] for variant in shared])
    titles = [
        f"<b>{v.kind} {v.kv_heads}</b>, head {i}<br>keys of {i * v.kv_heads // n_heads}"
        for v in shared
        for i in range(n_heads)
    ]
    return tiles(maps, titles, n_heads, hovers=titles, height=height)
