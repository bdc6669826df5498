"""Pictures of what a model is made of and what it costs: a ring, a treemap, bars by block, bars of bytes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import ceil
from textwrap import wrap
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.components import BYTES, COLOURS
from tfcore.charts.theme import base_layout, build
from tfcore.measures.memory_use import MemoryUse
from tfcore.measures.parameter_count import ParameterCount
from tfcore.measures.quantities import amount, power, scale, short
from tfcore.views.model.parameters.measure import bytes_of

Way = Literal["ring", "treemap", "blocks"]

HEIGHTS: dict[Way, int] = {"ring": 360, "treemap": 460, "blocks": 460}  # pixels; a ring fills no more on a phone
BLOCKS = "blocks"
MOST_TILES = 40  # blocks of a treemap; neighbours of a deeper model share one


def count_figure(count: ParameterCount, way: Way, height: int) -> go.Figure:
    """The parameters in one of three ways."""
    draw = {"ring": ring_figure, "treemap": treemap_figure, "blocks": blocks_figure}[way]
    return draw(count, height)


SMALL = 0.015  # of all parameters: a slice of less has its share written below the ring


def ring_figure(count: ParameterCount, height: int) -> go.Figure:
    """The share of every component."""
    names = list(count.by_component)
    small = {name: value for name, value in count.by_component.items() if value < SMALL * count.total}
    trace = {
        "type": "pie",
        "hole": 0.58,
        "labels": names,
        "values": list(count.by_component.values()),
        "sort": False,
        "direction": "clockwise",
        "texttemplate": ["%{text}<br>%{percent}" if name not in small else "" for name in names],
        "textposition": "outside",
        "automargin": True,
        "text": [name.replace(" ", "<br>") for name in names],  # narrow, for a phone
        "marker": {"colors": [COLOURS[name] for name in names], "line": {"color": "@paper", "width": 1.5}},
        "textfont": {"size": 12, "color": "@ink"},
        "hovertemplate": "%{label}: %{value:,} (%{percent})<extra></extra>",
    }
    note = kit.note(f"<b>{short(count.total)}</b>", 0.5, 0.5, "@ink", size=22, paper="xy")
    rest = ", ".join(f"{name} {value / count.total:.2%}" for name, value in small.items())
    lines = wrap(f"too thin to see: {rest}", 48) if rest else []  # as wide as a phone
    below = kit.note("<br>".join(lines), 0.5, 0, paper="xy", yanchor="top", yshift=-30)
    margin = {"l": 90, "r": 110, "t": 40, "b": 52 + 16 * max(len(lines) - 1, 0)}
    layout = base_layout(height, showlegend=False, annotations=[note, below], margin=margin)
    del layout["xaxis"], layout["yaxis"]
    return build([trace], layout)


def treemap_figure(count: ParameterCount, height: int) -> go.Figure:
    """Every block and what is in it, each as large as it has parameters; of a deep model a few blocks together."""
    inside = dict.fromkeys(count.by_component, 0)
    tiles: list[tuple[str, str, str, int, str]] = []  # id, label, parent, parameters, colour
    for name, parts in _few(count.by_layer).items():
        tiles.append((name, name, BLOCKS, sum(parts.values()), "@muted/0.25"))
        for component, value in parts.items():
            tiles.append((f"{name} {component}", component, name, value, COLOURS[component]))
            inside[component] += value
    tiles.append((BLOCKS, BLOCKS, "", sum(inside.values()), "@muted/0.25"))
    tiles += [
        (component, component, "", value - inside[component], COLOURS[component])
        for component, value in count.by_component.items()
        if value > inside[component]
    ]
    ids, labels, parents, values, colours = (list(column) for column in zip(*tiles, strict=True))
    trace = {
        "type": "treemap",
        "ids": ids,
        "labels": labels,
        "parents": parents,
        "values": values,
        "branchvalues": "total",
        "marker": {"colors": colours, "line": {"color": "@paper", "width": 1}},
        "maxdepth": 3,
        "textfont": {"size": 12},
        "pathbar": {"visible": True},
        "tiling": {"pad": 1},
        "hovertemplate": "%{label}: %{value:,}<extra></extra>",
    }
    layout = base_layout(height, margin={"l": 4, "r": 4, "t": 24, "b": 4})
    del layout["xaxis"], layout["yaxis"]
    return build([trace], layout)


def _few(by_layer: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """The blocks by their names on a tile; neighbours of one stack are added up until at most MOST_TILES or so are
    left."""
    size, few = ceil(len(by_layer) / MOST_TILES), {}
    for stack, grouped in groupby(by_layer, lambda name: name.rpartition("blocks.")[0]):
        names = list(grouped)
        for first in range(0, len(names), size):
            group = names[first : first + size]
            if len(group) == 1:
                few[f"{stack}block {first}"] = by_layer[group[0]]
                continue
            parts: Counter[str] = Counter()
            for name in group:
                parts.update(by_layer[name])
            few[f"{stack}blocks {first} to {first + len(group) - 1}"] = parts
    return few


def blocks_figure(count: ParameterCount, height: int) -> go.Figure:
    """The parameters of every block, stacked by component."""
    components = [name for name in count.by_component if any(name in parts for parts in count.by_layer.values())]
    blocks = np.array(list(count.by_layer))  # arrays: plotly copies a list number by number
    data = [
        kit.bars(
            np.arange(len(blocks)),
            np.array([parts.get(component, 0) for parts in count.by_layer.values()], dtype=float),
            COLOURS[component],
            name=component,
            customdata=blocks,
            hovertemplate="%{customdata}, " + component + ": %{y:,}<extra></extra>",
        )
        for component in components
    ]
    layout = base_layout(
        height,
        barmode="stack",
        bargap=0.15,
        xaxis=kit.axis("block", fixed=True),
        yaxis=kit.axis("parameters", fixed=True),
    )
    return build(data, layout)


def memory_figure(uses: Mapping[str, MemoryUse], purposes: Sequence[str], height: int) -> go.Figure:
    """Bytes for each purpose and model, stacked by what holds them."""
    rows = [(f"{purpose}: {name}", bytes_of(use, purpose)) for purpose in purposes for name, use in uses.items()]
    one, unit = scale(max(sum(kept.values()) for _, kept in rows), "decimal")
    data: list[dict[str, Any]] = [
        kit.bars(
            [kept.get(part, 0) / one for _, kept in rows],
            [row for row, _ in rows],
            colour,
            name=part,
            orientation="h",
            customdata=[amount(kept.get(part, 0)) for _, kept in rows],
            hovertemplate="%{y}, " + part + ": %{customdata}<extra></extra>",
        )
        for part, colour in BYTES.items()
    ]
    layout = base_layout(
        height,
        barmode="stack",
        xaxis=kit.axis(f"{unit} ({power(one)} bytes)", fixed=True),
        yaxis=kit.axis(fixed=True, autorange="reversed"),
        legend={"y": 1.04, "traceorder": "normal"},
    )
    return build(data, layout)
